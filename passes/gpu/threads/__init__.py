"""Loops bound to threads: launches, buffers in a block's memory, reductions across threads, barriers."""
