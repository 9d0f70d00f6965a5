"""The graph ops that a call of a kernel computes, by the model's own names.

A kernel is shared by all ops that are computed alike, so the names stand on the calls: ``relax.ops = ["relax.conv2d Conv_0",
"relax.add"]``. Whatever replaces a call inherits them, down to ``llvm.call``; once kernels are fused, also how much work it is.
"""
from legato.core.locations import model_name
from legato.core.mlir import ir
from legato.dialects.relax.dim import Size
from legato.dialects.relax.dims import parse
from legato.dialects.relax.markers import OPS, WORK


def mark(call: ir.Operation, op: ir.Operation) -> None:
    """Notes that ``call`` computes the graph op ``op``, which it is about to replace."""
    name = model_name(op)
    _set(call, [f"{op.name} {name}" if name else op.name])


def inherit(call: ir.Operation, *replaced: ir.Operation) -> None:
    """Notes that ``call`` computes what the calls that it replaces computed, in their order."""
    _set(call, [text for one in replaced for text in _texts(one)])
    if len(replaced) == 1 and WORK in replaced[0].attributes:
        call.attributes[WORK] = replaced[0].attributes[WORK]


def set_work(call: ir.Operation, flops: Size, traffic: Size) -> None:
    """Notes how much work ``call`` is: arithmetic operations, and bytes read and written; UNKNOWN where it depends on data."""
    call.attributes[WORK] = ir.ArrayAttr.get([ir.StringAttr.get(str(size)) for size in (flops, traffic)])


def work_of(call: ir.Operation) -> tuple[Size, Size] | None:
    """How much work ``call`` is, as ``set_work`` notes it; None where that is not noted."""
    if WORK not in call.attributes:
        return None
    flops, traffic = (parse(ir.StringAttr(text).value) for text in call.attributes[WORK])
    return flops, traffic


def ops_of(call: ir.Operation) -> list[tuple[str, str | None]]:
    """The graph ops that a call computes: (op, the model's name or None). Empty for a kernel written by hand."""
    split = [text.partition(" ") for text in _texts(call)]
    return [(op, name or None) for op, _, name in split]


def _texts(call: ir.Operation) -> list[str]:
    return [text.value for text in call.attributes[OPS]] if OPS in call.attributes else []


def _set(call: ir.Operation, texts: list[str]) -> None:
    if texts:
        call.attributes[OPS] = ir.ArrayAttr.get([ir.StringAttr.get(text) for text in dict.fromkeys(texts)])
