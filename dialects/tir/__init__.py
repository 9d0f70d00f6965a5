"""The tir dialect: kernels, and the conventions of the functions that hold them."""
from .check import check_prim_func, check_prim_funcs
from .dialect import Tir
from .kernel import (
    call_tir,
    is_prim_func,
    out_count,
    prim_func,
    prim_funcs,
    set_signature,
    tie_outputs,
)
from .plain import memory_element, plain_attribute, plain_type, plain_types

__all__ = [
    "Tir", "call_tir", "check_prim_func", "check_prim_funcs", "is_prim_func", "memory_element", "out_count", "plain_attribute",
    "plain_type", "plain_types", "prim_func", "prim_funcs", "set_signature", "tie_outputs",
]
