"""Vector accesses: index simplification and alignment, so that each becomes one memory instruction."""
from math import gcd

from legato.analysis.indices.build import build
from legato.analysis.indices.forms import in_loops, linear, roots
from legato.analysis.indices.linear import Linear, Quotient
from legato.core.ir_helpers import find
from legato.core.mlir import arith, ir
from legato.dialects.tir.loops import constant_of, loop_of
from legato.dialects.tir.walk import FIRST_INDEX
from legato.passes.gpu.threads.launch import Launch

MOST = 16  # bytes of one access; buffers are aligned to it
DIVISIONS = ("arith.floordivsi", "arith.divui", "arith.remui", "arith.remsi", "arith.divsi")


def simplify_steps(root: ir.Operation) -> None:
    """Removes from quotients and comparisons the variables of short loops that do not change the result.

    In ``(16 * i + j) // 32`` with j < 16, the j is removed; in remainders it is added to the result.
    """
    for op in find(root, "arith.floordivsi", "arith.divui", "arith.remui", "arith.cmpi"):
        if op.name != "arith.cmpi":
            simplify(op, 0, 1)
        elif op.attributes["predicate"].value in (2, 5, 6, 9):    # a < b, or not
            simplify(op, 0, 1)
        elif op.attributes["predicate"].value in (4, 8):    # a > b, which is b < a
            simplify(op, 1, 0)


def join_digits(launch: Launch) -> None:
    """Builds the indices in which quotients and remainders of a number are put together to the number again: ``x // 8 * 8 + x % 8``. Those
    of numbers of blocks stay, which all accesses have in common."""
    extents = {axis.id: axis.extent for axis in launch.axes.values() if axis.extent}
    blocks = {axis.id for axis in launch.blocks}
    for op in find(launch.operation, *FIRST_INDEX):
        for place in range(FIRST_INDEX[op.name], len(op.operands)):
            divided = {term for term in in_loops(op.operands[place], quotients=False).terms if is_divided(term)}
            kept = {term for term in divided if roots(term) <= blocks}
            if len(divided) > sum(map(is_divided, (form := in_loops(op.operands[place], extents=extents, kept=kept)).terms)):
                with ir.InsertionPoint(op), op.location:
                    op.operands[place] = build(form)


def is_divided(term: ir.Value | Quotient) -> bool:
    """Whether a term of a form is a quotient or a remainder."""
    return isinstance(term, Quotient) or (not isinstance(term.owner, ir.Block) and term.owner.operation.name in DIVISIONS)


def simplify(op: ir.Operation, at: int, other: int) -> None:
    """Removes variables of short loops from an operand, where all other terms and the other operand are multiples of their extents."""
    bound = constant_of(op.operands[other])
    form = linear(op.operands[at])
    if bound is None or bound < 0 or (bound == 0 and op.name != "arith.cmpi") or form.is_constant:
        return
    for variable, extent in short_steps(form):
        rest = form - Linear({variable: 1})
        if all(number % extent == 0 for number in (*rest.terms.values(), rest.constant, bound)):
            with ir.InsertionPoint(op), op.location:
                op.operands[at] = build(rest)
            if op.name == "arith.remui":
                put_behind(op, variable)
            return


def put_behind(op: ir.Operation, variable: ir.Value) -> None:
    """Replaces the uses of an op's result by its sum with a value."""
    uses = list(op.results[0].uses)
    with ir.InsertionPoint(op), op.location:
        total = arith.AddIOp(op.results[0], variable)
    op.move_before(total.operation)
    for use in uses:
        use.owner.operation.operands[use.operand_number] = total.result


def short_steps(form: Linear) -> list[tuple[ir.Value, int]]:
    """The variables in a form of loops from 0 with constant extent, with the extents."""
    found = []
    for value, factor in form.terms.items():
        loop = loop_of(value)
        if factor == 1 and loop is not None and loop.extent is not None and loop.extent > 1 and constant_of(loop.bounds[0]) == 0:
            found.append((value, loop.extent))
    return found


def align_vectors(root: ir.Operation) -> None:
    """Sets the alignment of loads and stores of vectors, where all rows of the buffer are aligned."""
    for op in find(root, "vector.load", "vector.store"):
        load = op.name == "vector.load"
        buffer, indices = op.operands[0 if load else 1], list(op.operands)[1 if load else 2:]
        type_ = op.results[0].type if load else op.operands[0].type
        width = type_.element_type.width // 8
        size = width * type_.shape[0]
        if width == 0 or size & (size - 1):
            continue
        elements = min(size, MOST) // width
        if elements > 1 and all(divisor(i) * s % elements == 0 for i, s in zip(indices, strides(buffer.type))):
            op.attributes["alignment"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), elements * width)


def align_elements(root: ir.Operation) -> None:
    """Sets the alignment of loads and stores of single elements where it is more than an element's: the first of neighbours, which LLVM
    then moves together."""
    for op in find(root, "memref.load", "memref.store"):
        first = 1 if op.name == "memref.load" else 2
        buffer, indices = op.operands[first - 1], list(op.operands)[first:]
        element = buffer.type.element_type
        width = 8 if isinstance(element, ir.IndexType) else element.width // 8
        is_local = not isinstance(buffer.owner, ir.Block) and buffer.owner.operation.name == "memref.alloca"
        if is_local or buffer.type.memory_space is not None or width not in (1, 2, 4, 8):
            continue
        steps = [divisor(i) * s * width for i, s in zip(indices, strides(buffer.type))]
        bytes_ = gcd(MOST, *steps)
        if any(steps) and bytes_ > width:   # one element has no neighbours
            op.attributes["alignment"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), bytes_)


def strides(type_: ir.MemRefType) -> list[int]:
    """A number that the stride of each dimension is a multiple of, in elements; 1 where none is known."""
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    found = [1 if s == dynamic else s for s in type_.get_strides_and_offset()[0]]
    if type_.affine_map == ir.AffineMap.get_identity(type_.rank):   # rows are behind each other
        for dim in reversed(range(type_.rank - 1)):
            found[dim] = found[dim + 1] * (1 if type_.is_dynamic_dim(dim + 1) else type_.shape[dim + 1])
    return found


def divisor(value: ir.Value) -> int:
    """A number that an index is always a multiple of; 0 for the index 0."""
    return linear(value).divisor(_divisor)


def _divisor(value: ir.Value) -> int:
    """As ``divisor``, for values that are no sums: a loop's variable, a remainder."""
    owner = value.owner
    if not isinstance(owner, ir.Block):
        op = owner.operation
        return gcd(*(divisor(v) for v in op.operands)) if op.name in ("arith.remui", "arith.remsi") else 1
    loop = owner.owner.operation
    if loop.name != "scf.for" or value != owner.arguments[0]:
        return 1
    return gcd(divisor(loop.operands[0]), divisor(loop.operands[2]))
