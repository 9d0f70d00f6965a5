"""Partitioning: parts of a graph are matched, outlined and given to backends."""
