"""The parts of tir-tile-attention: loops over blocks of an attention, and the elements that they read."""
