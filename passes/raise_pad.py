"""A nest that copies a buffer into a larger one and fills what is around it: ``T.if_then_else(1 <= i and i < 17, A[i - 1], 0.0)``."""
from dataclasses import dataclass

from ..dialects.tir.linear import Linear, linear
from ..dialects.tir.loops import BlockOp, constant_of
from ..dialects.tir.walk import body
from ..mlir import ir, tensor

LESS, LESS_EQUAL, GREATER, GREATER_EQUAL = 2, 3, 4, 5  # of arith.cmpi


@dataclass
class Pad:
    """``low``, ``high``: how many elements are put in front of and behind each dimension."""

    block: BlockOp
    source: ir.Value
    target: ir.Value
    low: list[int]
    high: list[int]
    value: ir.Value

    @property
    def reads(self) -> list[ir.Value]:
        return [self.source]

    @property
    def writes(self) -> list[ir.Value]:
        return [self.target]

    def build(self, current: dict[ir.Value, ir.Value]) -> None:
        """Builds the ``tensor.pad`` at the insertion point; the target holds its result from then on."""
        type_ = ir.RankedTensorType.get(self.target.type.shape, self.target.type.element_type)
        made = tensor.PadOp(type_, current[self.source], [], [], self.low, self.high)
        inside = made.regions[0].blocks.append(*[ir.IndexType.get()] * len(self.low))
        with ir.InsertionPoint(inside):
            owner = self.value.owner
            value = self.value if isinstance(owner, ir.Block) else owner.operation.clone().results[0]
            tensor.YieldOp(value)
        current[self.target] = made.result


def read_pad(block: BlockOp, extents: list[int | None]) -> Pad | None:
    """The padding that a block is, or None where it is anything else."""
    work = [op for op in body(block.block) if op.name.split(".")[0] != "arith"]
    arguments = list(block.block.arguments)
    if block.init_block is not None or [op.name for op in work] != ["scf.if", "memref.store"] or None in extents:
        return None
    test, store = work
    target = store.operands[1]
    if not test.results or store.operands[0] != test.results[0] or list(store.operands)[2:] != arguments:
        return None
    if target.owner.operation.name != "tir.alloc_buffer" or list(target.type.shape) != extents:
        return None
    inner, other = (r.blocks[0] for r in test.regions)
    loads = [op for op in body(inner) if op.name.split(".")[0] != "arith"]
    yielded, filler = (b.operations[len(b.operations) - 1].operation.operands[0] for b in (inner, other))
    if [op.name for op in loads] != ["memref.load"] or yielded != loads[0].results[0] or not is_constant(filler):
        return None
    bounds = {a: [0, e] for a, e in zip(arguments, extents)}
    if not narrow(test.operands[0], bounds):
        return None
    source, shape = loads[0].operands[0], list(loads[0].operands[0].type.shape)
    forms = [linear(v) for v in list(loads[0].operands)[1:]]
    for argument, form, size in zip(arguments, forms, shape):
        low, high = bounds[argument]
        if form != Linear({argument: 1}, -low) or high - low != size:
            return None
    if len(forms) != len(arguments):
        return None
    return Pad(block, source, target, [bounds[a][0] for a in arguments], [e - bounds[a][1] for a, e in zip(arguments, extents)], filler)


def is_constant(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == "arith.constant"


def narrow(condition: ir.Value, bounds: dict[ir.Value, list[int]]) -> bool:
    """Narrows the bounds of axes by a conjunction of comparisons with constants. False for any other condition."""
    owner = None if isinstance(condition.owner, ir.Block) else condition.owner.operation
    if owner is None:
        return False
    if owner.name == "arith.andi":
        return all([narrow(v, bounds) for v in owner.operands])
    if owner.name == "arith.constant":
        return constant_of(condition) not in (0, False)
    if owner.name != "arith.cmpi":
        return False
    a, b = (linear(v) for v in owner.operands)
    kind = owner.attributes["predicate"].value
    if a.is_constant:  # c < v is v > c
        a, b = b, a
        kind = {LESS: GREATER, LESS_EQUAL: GREATER_EQUAL, GREATER: LESS, GREATER_EQUAL: LESS_EQUAL}.get(kind, -1)
    axis = next(iter(a.terms)) if len(a.terms) == 1 else None
    if axis not in bounds or a.terms[axis] != 1 or not b.is_constant:
        return False
    limit = b.constant - a.constant
    low, high = bounds[axis]
    if kind in (LESS, LESS_EQUAL):
        bounds[axis] = [low, min(high, limit + (kind == LESS_EQUAL))]
    elif kind in (GREATER, GREATER_EQUAL):
        bounds[axis] = [max(low, limit + (kind == GREATER)), high]
    else:
        return False
    return True
