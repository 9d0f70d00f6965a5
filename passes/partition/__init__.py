"""What the passes of partitioning share: groups of ops as functions, cycles, records, artifacts."""
