"""Engines of other projects that run parts of a model: each module has ``load(data, name)``, the loader of its backend's blobs."""
