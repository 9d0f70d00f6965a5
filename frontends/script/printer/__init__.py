"""From IR back to the source of scripts."""
