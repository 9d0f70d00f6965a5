"""From the source of a graph to a relax function."""
