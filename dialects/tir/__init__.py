"""The tir dialect: kernels, and the conventions of the functions that hold them."""
from .kernel import (
    call_tir,
    is_prim_func,
    memory_element,
    out_count,
    plain_type,
    prim_func,
    prim_funcs,
    set_signature,
    tie_outputs,
)

__all__ = [
    "call_tir", "is_prim_func", "memory_element", "out_count", "plain_type", "prim_func", "prim_funcs", "set_signature", "tie_outputs",
]
