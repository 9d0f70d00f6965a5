"""How tir-raise-loops reads loop kernels and makes structured ops of them."""
