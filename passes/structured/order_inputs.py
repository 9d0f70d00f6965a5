"""Puts an input of an elementwise op first whose sizes are those of the kernel's reductions.

Upstream takes the extent of a loop from the first operand that it indexes. In ``y * softmax(x)`` of dynamic sizes the loops of the product
would have the sizes of y, and those of the softmax the sizes of x. Both are equal, but as values they differ, and copies of a producer
that are fused into tiles of both are not recognized as one.
"""
from legato.analysis.structured import StructuredOp
from legato.core.mlir import func, ir
from legato.dialects.tir.loops import constant_of

Size = tuple[ir.Value, int]   # of a tensor, along a dimension


def order_inputs(kernel: func.FuncOp) -> bool:
    """Changes the order of inputs. Returns whether it did."""
    ops = [StructuredOp(op.operation) for op in kernel.body.blocks[0].operations if op.operation.name.startswith("linalg.")]
    ops = [op for op in ops if len(op.op.results) and op.maps]
    if len(ops) < 2 or all(op.parallel for op in ops):
        return False
    sizes = LoopSizes()
    wanted = {size for op in ops if not op.parallel for loop in dynamic_loops(op) if (size := sizes.of_loop(op, loop)) is not None}
    changed = False
    for op in ops:
        loops = dynamic_loops(op)
        if op.op.name != "linalg.generic" or not op.parallel or all(sizes.of_loop(op, loop) in wanted for loop in loops):
            continue
        place = next((n for n in range(len(op.inputs)) if loops <= set(op.loops_of(n)) and all(
            sizes.of(op.op.operands[n], axis) in wanted for axis, loop in enumerate(op.loops_of(n)) if loop in loops)), None)
        if place:
            exchange(op.op, 0, place)
            changed = True
            sizes = LoopSizes()
    return changed


def dynamic_loops(op: StructuredOp) -> set[int]:
    """The loops whose extent is not static."""
    return {loop for loop, extent in enumerate(op.extents) if extent < 0}


class LoopSizes:
    """Where upstream takes the extents of loops from: the size of an argument, or of what is no structured op."""

    def __init__(self) -> None:
        self.known: dict[ir.Operation, StructuredOp] = {}

    def of_loop(self, op: StructuredOp, loop: int) -> Size | None:
        """From the first operand that the loop indexes; None without one."""
        for number in range(len(op.maps)):
            loops = op.loops_of(number)
            if loop in loops:
                return self.of(op.op.operands[number], loops.index(loop))
        return None

    def of(self, value: ir.Value, axis: int) -> Size | None:
        """The size of a tensor."""
        owner = value.owner
        if isinstance(owner, ir.Block):
            return value, axis
        made = owner.operation
        if made.name == "tensor.empty":
            dynamic = [n for n in range(value.type.rank) if value.type.is_dynamic_dim(n)]
            size = made.operands[dynamic.index(axis)].owner if axis in dynamic else None
            if size is not None and not isinstance(size, ir.Block) and size.name == "tensor.dim":
                place = constant_of(size.operands[1])
                return None if place is None else self.of(size.operands[0], place)
            return None
        if not made.name.startswith("linalg.") or not len(made.results):
            return value, axis
        op = self.known.setdefault(made, StructuredOp(made))
        number = len(op.inputs) + ir.OpResult(value).result_number
        loop = op.loops_of(number)[axis] if number < len(op.maps) else None
        return self.of_loop(op, loop) if loop is not None else (value, axis)


def exchange(op: ir.Operation, one: int, other: int) -> None:
    """Exchanges two inputs of a linalg.generic."""
    maps = list(op.attributes["indexing_maps"])
    maps[one], maps[other] = maps[other], maps[one]
    op.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
    op.operands[one], op.operands[other] = op.operands[other], op.operands[one]
    a, b = op.regions[0].blocks[0].arguments[one], op.regions[0].blocks[0].arguments[other]
    uses = [[(use.owner.operation, use.operand_number) for use in value.uses] for value in (a, b)]
    a_type, b_type = a.type, b.type
    a.set_type(b_type)
    b.set_type(a_type)
    for value, users in ((b, uses[0]), (a, uses[1])):
        for user, number in users:
            user.operands[number] = value
