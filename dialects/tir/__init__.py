"""The tir dialect: kernels and their conventions."""
from legato.dialects.tir import (  # noqa: F401 - their ops are part of the dialect
    matrices,
    schedule_ops,
    tiles,
)
from legato.dialects.tir.check import check_prim_func, check_prim_funcs
from legato.dialects.tir.dialect import Tir
from legato.dialects.tir.extern import call_extern
from legato.dialects.tir.intrinsics import INTRINSICS
from legato.dialects.tir.kernel import KernelBody, call_tir, empty, is_prim_func, out_count, prim_func, prim_funcs, set_signature
from legato.dialects.tir.loops import AllocBufferOp, BlockOp, ForOp, YieldOp
from legato.dialects.tir.packed import call_packed
from legato.dialects.tir.plain import memory_element, plain_attribute, plain_type, plain_types
from legato.dialects.tir.state import schedulable, set_state, state_of
from legato.dialects.tir.text import parse_prim_func
from legato.dialects.tir.ties import is_tied, results_with_outputs, tie_outputs

__all__ = [
    "INTRINSICS", "AllocBufferOp", "BlockOp", "ForOp", "KernelBody", "Tir", "YieldOp", "call_extern", "call_packed", "call_tir",
    "check_prim_func", "check_prim_funcs", "empty", "is_prim_func", "is_tied", "memory_element", "out_count", "parse_prim_func",
    "plain_attribute",
    "plain_type", "plain_types", "prim_func", "prim_funcs", "results_with_outputs", "schedulable", "set_signature", "set_state",
    "state_of", "tie_outputs",
]
