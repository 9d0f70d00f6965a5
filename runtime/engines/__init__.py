"""Engines of other projects that run parts of a model. Each module has ``load(data, name)``, the loader of its backend's blobs."""
