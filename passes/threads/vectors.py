"""Vectors in memory: quotients that all their lanes share, and what is known of their alignment, so that they are moved at once."""
from math import gcd

from ...dialects.tir.linear import Linear, build, linear
from ...dialects.tir.loops import constant_of, loop_of
from ...dialects.tir.walk import find
from ...mlir import ir

MOST = 16  # bytes of one access; buffers begin at a multiple of that


def simplify_steps(root: ir.Operation) -> None:
    """Quotients and comparisons lose the short steps that do not change them: of ``(16 * i + j) // 32``, where j is less than 16, the j."""
    for op in find(root, "arith.floordivsi", "arith.cmpi"):
        if op.name == "arith.floordivsi":
            simplify(op, 0, 1)
        elif op.attributes["predicate"].value in (2, 6):    # a < b
            simplify(op, 0, 1)
        elif op.attributes["predicate"].value in (4, 8):    # a > b, which is b < a
            simplify(op, 1, 0)


def simplify(op: ir.Operation, at: int, other: int) -> None:
    """Drops the variables of short loops from an operand, where all else in it, and the other operand, are multiples of their extents."""
    bound = constant_of(op.operands[other])
    form = linear(op.operands[at])
    if not bound or bound < 0 or form.is_constant:
        return
    for variable, extent in short_steps(form):
        rest = form - Linear({variable: 1})
        if all(number % extent == 0 for number in (*rest.terms.values(), rest.constant, bound)):
            with ir.InsertionPoint(op), op.location:
                op.operands[at] = build(rest)
            return


def short_steps(form: Linear) -> list[tuple[ir.Value, int]]:
    """The variables in a form of loops from 0 with a known extent, and the extents."""
    found = []
    for value, factor in form.terms.items():
        loop = loop_of(value)
        if factor == 1 and loop is not None and loop.extent is not None and loop.extent > 1 and constant_of(loop.bounds[0]) == 0:
            found.append((value, loop.extent))
    return found


def align_vectors(root: ir.Operation) -> None:
    """Says of the loads and stores of vectors how they are aligned, where all rows of the buffer begin aligned."""
    for op in find(root, "vector.load", "vector.store"):
        load = op.name == "vector.load"
        buffer, indices = op.operands[0 if load else 1], list(op.operands)[1 if load else 2:]
        type_ = op.results[0].type if load else op.operands[0].type
        width = type_.element_type.width // 8
        size = width * type_.shape[0]
        if width == 0 or size & (size - 1):
            continue
        elements = min(size, MOST) // width
        if elements > 1 and all(multiple(i, s, elements) for i, s in zip(indices, strides(buffer.type))):
            op.attributes["alignment"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), elements * width)


def strides(type_: ir.MemRefType) -> list[int]:
    """By how many elements each index moves; 1 where it is not known."""
    return [1 if s == ir.ShapedType.get_dynamic_stride_or_offset() else s for s in type_.get_strides_and_offset()[0]]


def multiple(value: ir.Value, stride: int, elements: int) -> bool:
    """Whether an index times its stride is a multiple of a number of elements."""
    form = linear(value)
    return all(gcd(factor(v) * f * stride, elements) == elements for v, f in form.terms.items()) and form.constant * stride % elements == 0


def factor(value: ir.Value) -> int:
    """A number that a value is a multiple of: the step of the loop whose variable it is."""
    owner = value.owner
    if isinstance(owner, ir.Block) and owner.owner.operation.name == "scf.for":
        loop = owner.owner.operation
        steps = [linear(v) for v in (loop.operands[0], loop.operands[2])]
        if value == owner.arguments[0] and all(s.is_constant for s in steps):
            return gcd(*(s.constant for s in steps))
    return 1
