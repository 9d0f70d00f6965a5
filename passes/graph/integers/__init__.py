"""Quantized values in graphs, and their contractions as integer products."""
