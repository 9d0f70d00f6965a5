"""The loops of direct convolutions."""
