"""Calling compiled models: executables, saved models, the CPU and the threads they need. Only the module ``jit`` loads MLIR."""
from .executable import Executable
from .package import load
from .signature import Parameter

__all__ = ["Executable", "Parameter", "load"]
