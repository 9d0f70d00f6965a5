"""The parts that parsers of kernels and graphs share: source text, words, types in annotations, functions as data."""
