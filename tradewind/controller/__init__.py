"""The planner's process: batches, plans written on pods, floor guard, ungating. Never imports `extender`."""
