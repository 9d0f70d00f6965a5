"""Which loop of a structured op is made a vector, and what stands in the way."""
from __future__ import annotations

from legato.analysis.structured.kernel import StructuredKernel
from legato.analysis.structured.maps import dims_in, is_shifted
from legato.analysis.structured.ops import PARALLEL, VECTORIZABLE, StructuredOp
from legato.core.mlir import ir


def vector_loop(nest: StructuredOp) -> int | None:
    """The loop to vectorize: contiguous in the output or, where the nest reduces, in the input of the highest rank."""
    out = nest.out_loops[-1] if nest.out_loops else None
    if nest.parallel:
        return out
    largest = max(range(len(nest.inputs)), key=lambda i: len(nest.loops_of(i)))
    places = list(nest.maps[largest].results)
    inner = nest.loops_of(largest)[-1] if places else None
    if inner is None and places and out is not None and is_shifted(places[-1], out):
        inner = out
    return None if inner is None or (nest.iterator_types[inner] == PARALLEL and inner != out) else inner


def crossing_loop(nest: StructuredOp, inner: int) -> int | None:
    """The innermost loop of an input in which the vectorized loop is not innermost: that input has to be transposed."""
    for i in range(len(nest.inputs)):
        loops = nest.loops_of(i)
        if nest.parallel and inner in loops[:-1] and loops[-1] is not None:
            return loops[-1]
    return None


def obstacle(nest: StructuredOp) -> str | None:
    """Why a nest, which has loops, cannot be vectorized; None where nothing stands in the way."""
    if len(nest.op.results) != 1:
        return f"it computes {len(nest.op.results)} results at once"
    strange = [name for name in nest.body_names if not name.startswith(("arith.", "math.")) and name not in VECTORIZABLE]
    if strange:
        return "it reads elements at computed places" if "tensor.extract" in strange else f"its body has {strange[0]}"
    if not nest.vectorizable:
        return "its elements are of a type that vectors cannot hold" if nest.parallel else "what it sums up does not depend on an element"
    inner = vector_loop(nest)
    if inner is None:
        return "no loop runs along neighbouring elements of its output or its largest operand"
    if nest.iterator_types[inner] != PARALLEL and not nest.combines_along(inner):
        return "what it sums up does not depend on the loop along neighbouring elements"
    if any(len({*loops}) < len(loops) for loops in ([l for l in nest.loops_of(i) if l is not None] for i in range(len(nest.maps)))):
        return "an operand is read or written along a diagonal"
    if not nest.steps_plainly(inner):
        return "an operand is read or written with a stride along the innermost loop"
    if _crosses_computed(nest, inner):
        return "an operand is read across a dimension whose index is computed"
    other = crossing_loop(nest, inner)
    if other is not None and not _tiles_plainly(nest, inner, other):
        return "an operand is transposed, and another is read with a stride or along a diagonal of the transposed tile"
    return None


def _tiles_plainly(nest: StructuredOp, inner: int, other: int) -> bool:
    """Whether a tile of two loops, of which ``inner`` steps plainly, is a block of each operand."""
    return nest.steps_plainly(other) and all(not {inner, other} <= dims_in(index) for map_ in nest.maps for index in map_.results)


def obstacles(kernel: StructuredKernel) -> list[str]:
    """Why a kernel stays scalar, wholly or in part: the reason for each of its nests that cannot be vectorized, without duplicates."""
    found = [why for nest in kernel.nests if nest.iterator_types and not nest.is_copy and (why := obstacle(nest)) is not None]
    other = [op.name for op in kernel.ops if op.name.startswith("linalg.") and kernel.op(op) not in kernel.nests]
    found += [f"{name} together with other work has no schedule" for name in other] if kernel.contraction is None else []
    return list(dict.fromkeys(found))


def _crosses_computed(nest: StructuredOp, inner: int) -> bool:
    """Whether an input has the vectorized loop before an innermost index that is computed: a strided read, which cannot be one."""
    for i in range(len(nest.inputs)):
        loops = nest.loops_of(i)
        if inner in loops[:-1] and loops[-1] is None and not isinstance(nest.maps[i].results[-1], ir.AffineConstantExpr):
            return True
    return False
