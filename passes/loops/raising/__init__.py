"""The parts of tir-raise-loops: reading loop kernels and building structured ops from them."""
