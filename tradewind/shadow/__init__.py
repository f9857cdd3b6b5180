"""What Tradewind would have done: a second cluster beside the real one, and what both of them cost."""
