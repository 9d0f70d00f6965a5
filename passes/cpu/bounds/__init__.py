"""Checks of indices at run time: what an op accesses, and the branch away from a bad access."""
