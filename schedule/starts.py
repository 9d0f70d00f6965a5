"""The tensors that structured ops overwrite: what each op gets of its own before the kernel becomes loops."""
from collections.abc import Sequence

from legato.analysis.structured import StructuredOp
from legato.core import fills
from legato.core.ir_helpers import index
from legato.core.mlir import func, ir, tensor
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.tir.loops import REDUCE
from legato.schedule.reshapes import VIEWS
from legato.schedule.state import ScheduleError
from legato.schedule.structured import is_fill, kinds_of


def copy_overwritten(kernel: func.FuncOp) -> None:
    """Gives each op that starts from an input, a constant or a view of one a copy of it to overwrite: neither is the kernel's to write."""
    given = list(kernel.arguments)[: len(kernel.arguments) - tir.out_count(kernel)]
    copied = False
    for op in [o.operation for o in kernel.body.blocks[0].operations]:
        for number in start_numbers(op):
            root = start = op.operands[number]
            while not isinstance(root.owner, ir.Block) and root.owner.name in VIEWS:
                root = root.owner.operands[0]
            if root in given or (not isinstance(root.owner, ir.Block) and root.owner.name == "arith.constant"):
                with ir.InsertionPoint(op), op.location:
                    sizes = [tensor.DimOp(start, index(a)).result if start.type.is_dynamic_dim(a) else start.type.shape[a]
                             for a in range(start.type.rank)]
                    made = tensor.EmptyOp(sizes, start.type.element_type).result
                    if op.name != "linalg.generic" or any(op.regions[0].blocks[0].arguments[number].uses):
                        made, copied = fills.copy(start, made), True
                op.operands[number] = made
    if copied:
        run_on(kernel.operation, "linalg-generalize-named-ops")


def separate_starts(kernel: func.FuncOp) -> None:
    """Gives each op that starts from an empty or filled tensor its own copy, to be overwritten in place. ScheduleError where another
    value is overwritten that is read again.
    """
    for op in reversed([o.operation for o in kernel.body.blocks[0].operations]):
        if is_blank(op):
            for use in list(op.results[0].uses)[1:]:
                with ir.InsertionPoint(op):
                    use.owner.operation.operands[use.operand_number] = op.clone().operation.results[0]
    for op in [o.operation for o in kernel.body.blocks[0].operations]:
        for start in starts(op):
            one: ir.Value | None = start
            while one is not None and not isinstance(one.owner, ir.Block):
                if len(list(one.uses)) > 1:
                    raise ScheduleError(f"@{kernel.name.value} cannot be put into loops: a value is overwritten that is read again")
                one = one.owner.operands[0] if one.owner.name in VIEWS else None


def is_blank(op: ir.Operation) -> bool:
    """Whether an op makes a tensor that is to be overwritten: an empty or filled one, or a view of one."""
    while op.name in VIEWS and not isinstance(op.operands[0].owner, ir.Block):
        op = op.operands[0].owner.operation
    return op.name in ("tensor.empty", "linalg.fill") or is_fill(op)


def begins_with_fills(op: ir.Operation) -> bool:
    """Whether an op is a reduction whose block can begin with the fills of all that it reduces into: none of its results has an axis that
    it reduces, as one does that is kept beside a sum."""
    if op.name != "linalg.generic":
        return False
    structured = StructuredOp(op)
    reduced = {loop for loop, kind in enumerate(kinds_of(structured)) if kind == REDUCE}
    first = len(op.operands) - len(op.results)
    return bool(reduced) and all(
        not isinstance(start.owner, ir.Block) and (start.owner.name == "linalg.fill" or is_fill(start.owner.operation))
        and reduced.isdisjoint(structured.loops_of(number)) for number, start in enumerate(starts(op), first))


def starts(op: ir.Operation) -> list[ir.Value]:
    """The tensors that an op overwrites, one for each result."""
    return [op.operands[number] for number in start_numbers(op)]


def start_numbers(op: ir.Operation) -> Sequence[int]:
    """Which operands an op overwrites, one for each result."""
    if op.name == "tensor.insert_slice":
        return [1]
    return range(len(op.operands) - len(op.results), len(op.operands)) if op.name.startswith("linalg.") else []
