"""Kernels, back to the source of a script."""
