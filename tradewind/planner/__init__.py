"""What is best for all waiting pods together: a batch becomes classes, and the classes a plan.

Pure: nothing here reads a clock for a decision, talks to a cluster or writes to one. Only
`worker` starts a process, in which the solvers run.
"""
