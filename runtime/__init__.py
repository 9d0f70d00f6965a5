"""Calling compiled models: executables, saved models, the CPU and the threads they need. Only the module ``jit`` loads MLIR."""
from legato.runtime.executable import Executable
from legato.runtime.package import load
from legato.runtime.signature import Parameter

__all__ = ["Executable", "Parameter", "load"]
