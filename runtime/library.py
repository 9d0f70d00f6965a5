"""Loads shared objects so that they are unloaded with the last object that needs them."""
import itertools
import os
from pathlib import Path

import tvm_ffi

_LOAD = tvm_ffi.get_global_func("ffi.Module.load_from_file.so")   # load_module takes only names that end in .so, and never unloads
_numbers = itertools.count(1)
# what to do where compiled code calls a C function that nothing in the process defines
HOW_TO_PROVIDE = "first load the library that defines it, by ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)"


def load_library(path: Path) -> tvm_ffi.Module:
    """The library in a file of any name. It is unloaded when the module and the functions taken from it are gone. Raises RuntimeError."""
    return _LOAD(str(_fresh_name(path)), "so")


def _fresh_name(path: Path) -> str:
    """A name of the file that dlopen was never given. For a name that it knows, glibc returns the library loaded under it without a look
    at the file, which may have been replaced. A number in binary is spelled in separators: ``/`` for 0, ``/.`` for 1."""
    spelled = f"{next(_numbers):b}".replace("0", "/").replace("1", "/.")
    return f"{os.fspath(path.parent)}{spelled}/{path.name}"
