"""Schedule primitives on kernels written as loops and blocks: TensorIR's, each of which checks that it is legal."""
