"""Schedule primitives of TensorIR on kernels written as loops and blocks; each checks its legality."""
