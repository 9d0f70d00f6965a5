"""The MLIR bindings; the only file that names the wheel which provides them.

Other files write ``from legato.core.mlir import ir, linalg``. The package ``mlir`` is used where it is installed and new enough (it has
dialect conversion and Python-defined operations), else the wheel ``torch_mlir``, which has the same bindings under its own prefix.
"""
import importlib
import importlib.util
import io
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from legato.core import named_ops


def _provider() -> str:
    if importlib.util.find_spec("mlir") is not None:
        try:
            rewrite = importlib.import_module("mlir.rewrite")
            extension = importlib.import_module("mlir.dialects.ext")
        except ImportError:
            pass  # an unrelated placeholder package is called mlir, too, and mlir may be built without bindings
        else:
            if hasattr(rewrite, "apply_partial_conversion") and hasattr(extension, "Pure"):
                return "mlir"
    if importlib.util.find_spec("torch_mlir") is not None:
        return "torch_mlir"
    raise ImportError("legato needs MLIR's Python bindings: pip install torch-mlir==20261001")


PROVIDER = _provider()
# the bindings search the file system for this module at every op of omp that they meet: theirs has another name
sys.modules.setdefault(f"{PROVIDER}.dialects.omp", ModuleType(f"{PROVIDER}.dialects.omp"))
if PROVIDER == "torch_mlir":
    named_ops.stand_in(PROVIDER)    # knows the one release of this wheel that the package asks for


def _load(name: str):
    return importlib.import_module(f"{PROVIDER}.{name}")


class _Dialect:
    """The module of a dialect that is imported when something of it is used: by name, or by the bindings for an op of it.

    Those below take a third of the time in which a tool starts.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> object:
        found = getattr(_load(f"dialects.{self._name}"), attribute)
        setattr(self, attribute, found)
        return found


if TYPE_CHECKING:
    from torch_mlir import execution_engine, ir, passmanager, rewrite
    from torch_mlir.dialects import (
        affine,
        arith,
        bufferization,
        builtin,
        cf,
        ext,
        func,
        gpu,
        linalg,
        llvm,
        math,
        memref,
        scf,
        tensor,
        transform,
        vector,
    )
    from torch_mlir.dialects.transform import interpreter
else:
    ir = _load("ir")
    passmanager = _load("passmanager")
    rewrite = _load("rewrite")
    execution_engine = _load("execution_engine")
    interpreter = _load("dialects.transform.interpreter")
    affine = _Dialect("affine")
    arith = _load("dialects.arith")
    bufferization = _Dialect("bufferization")
    builtin = _load("dialects.builtin")
    cf = _Dialect("cf")
    ext = _load("dialects.ext")
    func = _load("dialects.func")
    gpu = _Dialect("gpu")
    linalg = _Dialect("linalg")
    llvm = _Dialect("llvm")
    math = _load("dialects.math")
    memref = _load("dialects.memref")
    scf = _load("dialects.scf")
    tensor = _load("dialects.tensor")
    transform = _load("dialects.transform")
    vector = _Dialect("vector")


def versions() -> str:
    """The versions of LLVM and of the wheel that provides it: ``LLVM 24.0.0git (torch-mlir 20261001)``.

    The bindings do not state LLVM's version; MLIR writes it into the header of bytecode.
    """
    from importlib.metadata import PackageNotFoundError, version

    file = io.BytesIO()
    with ir.Context():
        ir.Module.parse("module {}").operation.write_bytecode(file)
    producer = file.getvalue().split(b"MLIR", 1)[1].split(b"\0", 1)[0].decode()
    try:
        wheel = f" ({PROVIDER.replace('_', '-')} {version(PROVIDER)})"
    except PackageNotFoundError:
        wheel = ""
    return f"LLVM {producer}{wheel}"
