"""Artifacts returned by a backend's code generation: ``from legato.artifacts import Blob``."""
from legato.dialects.artifacts import Artifact, Blob, Closure, Lowered, PythonFunction, Registered, SharedObject

__all__ = ["Artifact", "Blob", "Closure", "Lowered", "PythonFunction", "Registered", "SharedObject"]


def __dir__() -> list[str]:
    return __all__
