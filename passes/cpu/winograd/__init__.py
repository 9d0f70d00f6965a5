"""The parts of tir-winograd-convolutions: the transforms, and loops over blocks of tiles."""
