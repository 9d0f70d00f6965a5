"""Memory: weights as arguments, bufferization, arenas, and the signature of main."""
