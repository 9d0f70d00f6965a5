"""The tir dialect: kernels, and the conventions of the functions that hold them."""
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
    "call_tir", "is_prim_func", "memory_element", "out_count", "plain_attribute", "plain_type", "plain_types",
    "prim_func", "prim_funcs", "set_signature", "tie_outputs",
]
