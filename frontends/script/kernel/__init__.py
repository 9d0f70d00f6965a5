"""From the source of a kernel to a prim_func."""
