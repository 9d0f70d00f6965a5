"""The run time: executables, saved models, packed functions and threads. It loads no MLIR."""
from legato.runtime.executable import Executable
from legato.runtime.package import load
from legato.runtime.signature import Parameter

__all__ = ["Executable", "Parameter", "load"]
