"""What kernels and graphs have in common: source text, words, types in annotations, functions as data."""
