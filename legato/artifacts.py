"""What a backend's codegen returns, as backends import it: ``from legato.artifacts import Blob``."""
from legato.dialects.artifacts import Artifact, Blob, Closure, Lowered, PythonFunction, Registered, SharedObject

__all__ = ["Artifact", "Blob", "Closure", "Lowered", "PythonFunction", "Registered", "SharedObject"]
