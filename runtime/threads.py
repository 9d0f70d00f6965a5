"""Finds an OpenMP runtime, for parallel regions that the model's own pool of threads does not run: reductions among threads."""
import ctypes
import ctypes.util
import functools
import glob
import os
import site
import sys
import sysconfig
from pathlib import Path

from legato.core.errors import LegatoError

ENTRY = "__kmpc_fork_call"   # called by LLVM's code; GNU's libgomp lacks it
_NAMES = ("libomp.so", "libomp.so.5", "libiomp5.so")
_FOLDERS = ("/usr/lib/llvm-*/lib", "/usr/lib/*-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib",
            "/opt/intel/oneapi/compiler/latest/lib")
_HOW = ("install LLVM's OpenMP runtime (Debian, Ubuntu: libomp5), or the wheel intel-openmp (pip install 'legato[threads]')")


@functools.cache
def openmp_runtime() -> str | None:
    """The path of an OpenMP runtime that LLVM's code can call, or None.

    A runtime that this process has loaded already comes first, since two in one process conflict; then Python's environment (the wheel
    intel-openmp) and the system.
    """
    return next((path for path in _candidates() if _is_runtime(path)), None)


def load_openmp(what: str) -> str:
    """Loads the OpenMP runtime with global symbols, for code loaded later. Returns its path.

    LegatoError, naming ``what`` needs it, if there is none.
    """
    path = openmp_runtime()
    if path is None:
        raise LegatoError(f"{what} runs on several threads and needs an OpenMP runtime, which was not found: {_HOW}")
    ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    return path


def _candidates() -> list[str]:
    prefixes = (sys.prefix, sysconfig.get_path("data"), site.getuserbase())
    found = _loaded()
    found += [os.path.join(prefix, "lib", name) for prefix in dict.fromkeys(prefixes) for name in _NAMES]
    found += [path for name in ("omp", "iomp5") if (path := ctypes.util.find_library(name))]
    for folder in _FOLDERS:
        found += sorted((path for name in _NAMES for path in glob.glob(os.path.join(folder, name))), reverse=True)
    return list(dict.fromkeys(found))


def _loaded() -> list[str]:
    """Paths of OpenMP runtimes in this process."""
    try:
        lines = Path("/proc/self/maps").read_text(errors="replace").splitlines()
    except OSError:
        return []
    paths = (line.split(maxsplit=5)[5] for line in lines if line.count("/"))
    return [path for path in dict.fromkeys(paths) if os.path.basename(path).startswith(("libomp.so", "libomp-", "libiomp5"))]


def _is_runtime(path: str) -> bool:
    if os.path.isabs(path) and not os.path.exists(path):
        return False
    try:
        return hasattr(ctypes.CDLL(path), ENTRY)
    except OSError:
        return False
