"""Mutated inputs: what a user can hand to Legato, slightly damaged. ``python test/fuzz/mutated_inputs.py`` runs them."""
