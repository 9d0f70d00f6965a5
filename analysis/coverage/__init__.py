"""Which elements of its outputs and buffers a kernel is certain to write."""
