"""A language model that generates text: a decoder with a cache of keys and values."""
