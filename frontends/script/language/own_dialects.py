"""The user's dialect that a word such as ``T.npu.square`` or ``R.npu.scaled_relu`` names."""

from legato.core.mlir import ext
from legato.dialects.late_loading import python_dialects
from legato.dialects.relax import Relax
from legato.dialects.tir.dialect import Tir

OURS = (Relax.DIALECT_NAMESPACE, Tir.DIALECT_NAMESPACE)


def own_dialect(word: str) -> type[ext.Dialect] | None:
    """The user's dialect that a word of ``T`` or ``R`` belongs to, by the part before its first dot; else None."""
    name, dot, _ = word.partition(".")
    return python_dialects().get(name) if dot and name not in OURS else None
