"""MLIR's bindings for passes, rules and backends: ``from legato.mlir import arith, ir``."""
from legato.core.mlir import (
    affine,
    arith,
    bufferization,
    builtin,
    cf,
    execution_engine,
    ext,
    func,
    interpreter,
    ir,
    linalg,
    llvm,
    math,
    memref,
    passmanager,
    rewrite,
    scf,
    tensor,
    transform,
    vector,
)

__all__ = [
    "affine",
    "arith",
    "bufferization",
    "builtin",
    "cf",
    "execution_engine",
    "ext",
    "func",
    "interpreter",
    "ir",
    "linalg",
    "llvm",
    "math",
    "memref",
    "passmanager",
    "rewrite",
    "scf",
    "tensor",
    "transform",
    "vector",
]


def __dir__() -> list[str]:
    return __all__
