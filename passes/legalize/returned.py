"""What rules and their kernels return: tests of values and types."""
from collections.abc import Sequence
from typing import Any

from legato.core.errors import LegatoError
from legato.core.interfaces import RuleLike
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.tir.ties import RESHAPES
from legato.passes.legalize.context import OpContext


def updated_operand(rule: RuleLike, operands: Sequence[ir.Value], inside: Sequence[Any], outputs: Sequence[ir.Type]) -> int | None:
    """The operand that a rule's kernel changes in place; None if the rule makes its output anew, or the operand is a constant of the
    kernel, or of another type than the output."""
    number = rule.updates
    if number is not None and number >= len(operands):
        raise LegatoError(f"updates={number}, and the op has {len(operands)} operand{'' if len(operands) == 1 else 's'}, from number 0")
    if number is None or inside[number] is not None or len(outputs) != 1 or tir.plain_type(operands[number].type) != outputs[0]:
        return None
    return number


def callee(value: ir.Value) -> str | None:
    """The function whose call returns the value, or None."""
    owner = value.owner
    return owner.attributes["callee"].value if not isinstance(owner, ir.Block) and owner.name == "func.call" else None


def check_written(kernel: func.FuncOp) -> None:
    """Raises LegatoError where a kernel returns an output that has elements as it was given."""
    outputs = [out for _, out in tir.results_with_outputs(kernel)]
    for number, (value, _) in enumerate(tir.results_with_outputs(kernel)):
        if 0 not in value.type.shape and is_unwritten(value, outputs):
            raise LegatoError(f"it returns its output {number} unwritten")


def is_unwritten(value: ir.Value, outputs: Sequence[ir.Value]) -> bool:
    """Whether a tensor with elements is, in any shape, a ``tensor.empty`` or one of ``outputs``, or the content of a buffer of theirs
    without a writer."""
    while not isinstance(value.owner, ir.Block) and value.owner.name in (*RESHAPES, "builtin.unrealized_conversion_cast"):
        value = value.owner.operands[0]
    if isinstance(value.owner, ir.Block):
        return value in outputs
    if value.owner.name != "bufferization.to_tensor":
        return value.owner.name == "tensor.empty" and 0 not in value.type.shape
    users = [use.owner.operation.name for use in value.owner.operands[0].uses]
    return all(name in ("bufferization.to_tensor", "memref.load", "memref.dim") for name in users)


def is_the_same(value: ir.Value, context: OpContext) -> bool:
    """Whether a rule returned the op that it replaces, on the same operands, which would never end."""
    owner = value.owner
    return (not isinstance(owner, ir.Block) and owner.name == context.name and list(owner.operands) == context.operands
            and attributes(owner) == attributes(context.op.operation))


def attributes(op: ir.Operation) -> dict[str, ir.Attribute]:
    """All attributes of an op."""
    return {name: op.attributes[name] for name in op.attributes}


def compatible(found: Sequence[ir.Type], wanted: Sequence[ir.Type]) -> bool:
    """Whether the types are equal except for dimensions that are dynamic on one side."""
    if len(found) != len(wanted):
        return False
    for a, b in zip(found, wanted):
        if a == b:
            continue
        tensors = isinstance(a, ir.RankedTensorType) and isinstance(b, ir.RankedTensorType)
        if not tensors or a.rank != b.rank or a.element_type != b.element_type:
            return False
        if any(x != y and not (a.is_dynamic_dim(i) or b.is_dynamic_dim(i)) for i, (x, y) in enumerate(zip(a.shape, b.shape))):
            return False
    return True
