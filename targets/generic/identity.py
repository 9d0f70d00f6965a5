"""Ops whose operand is their result for certain types and attributes: no kernel, no copy."""
from legato.core.errors import Refusal
from legato.dialects.relax import dims
from legato.dialects.tir.plain import memory_element
from legato.targets.builders.element import Element
from legato.targets.rule import rewrite


def _element(type_) -> Element:
    return Element(type_.element_type)


@rewrite("relax.astype", priority=1)
def astype_same_bits(op, x):
    """Integers of one width have the same bits, signed or not."""
    old, new = _element(op.input_types[0]), _element(op.output_types[0])
    same = old.type == new.type and old.is_bool == new.is_bool and (old.relax == new.relax or not (old.is_narrow or new.is_narrow))
    return op.plain(x) if same else Refusal(f"from {old.relax} to {new.relax} the bits change")


@rewrite("relax.bitcast", priority=1)
def bitcast_same_memory(op, x):
    """Element types that are one type in memory."""
    same = memory_element(op.input_types[0].element_type) == memory_element(op.output_types[0].element_type)
    return op.plain(x) if same else Refusal("the types of integers and floats differ")


@rewrite("relax.relu", "relax.abs", priority=1)
def of_unsigned(op, x):
    """relu and abs of unsigned integers."""
    return x if _element(op.input_types[0]).is_unsigned else Refusal("the elements may be negative")


@rewrite("relax.broadcast_to", "relax.tile", "relax.pad", "relax.clip", priority=1)
def nothing_asked(op, x):
    """A broadcast to the same shape, a single repeat, no padding, no bounds."""
    a = op.attrs
    nothing = {"relax.broadcast_to": lambda: _same_shape(op), "relax.tile": lambda: all(r == 1 for r in a["repeats"]),
               "relax.pad": lambda: not any(a["pads"]), "relax.clip": lambda: a["min"] is None and a["max"] is None}[op.name]
    return x if nothing() else Refusal("it changes something")


@rewrite("relax.sum", "relax.prod", "relax.max", "relax.min", "relax.mean", priority=1)
def over_no_axes(op, x):
    """A reduction over no axes."""
    return x if op.attrs["axis"] == [] else Refusal("there are axes to reduce")


def _same_shape(op) -> bool:
    old, new = dims.dims(op.input_types[0]), dims.dims(op.output_types[0])
    return old == new and dims.UNKNOWN not in old


RULES = (astype_same_bits, bitcast_same_memory, *of_unsigned, *nothing_asked, *over_no_axes)
