"""Reductions of IR: graphs, kernels, and all stages below them."""
