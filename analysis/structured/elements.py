"""Elements of tensors in a kernel, traced back through its elementwise ops: which elements of which tensors one is computed from.

An index is a tuple with a term for each dimension: a name that the caller has given to a loop, or a constant.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from legato.analysis.structured.kernel_ops import KernelOps
from legato.analysis.structured.ops import VECTORIZABLE, StructuredOp
from legato.core.ir_helpers import defining_op
from legato.core.mlir import ir

CASTS = ("arith.extf", "arith.truncf")
VIEWS = ("tensor.expand_shape", "tensor.collapse_shape", "tensor.cast")
SIZES = ("arith.", "tensor.dim")    # ops, outside of bodies
Term = str | int
Index = tuple[Term, ...]


class Untraceable(Exception):
    """An element is computed in a way that cannot be followed."""


@dataclass(frozen=True)
class BodyScalar:
    """A scalar in the body of a structured op, or outside of it; ``loops``: the term of each loop of the op."""

    op: StructuredOp
    value: ir.Value
    loops: dict[int, Term]

    @property
    def operand(self) -> tuple[ir.Value, Index] | None:
        """The tensor, or scalar operand, and the index that it is read at, where the scalar is an argument of the body; else None."""
        scalars = self.op.scalars
        if self.value not in scalars:
            return None
        number = scalars.index(self.value)
        return self.op.op.operands[number], place(self.op.maps[number], self.loops)

    @property
    def inner(self) -> ir.Operation | None:
        """The op of the body that computes the scalar; None for another scalar."""
        owner = defining_op(self.value)
        return owner if owner is not None and owner in self.op.body else None

    def other(self, value: ir.Value) -> BodyScalar:
        """Another scalar at the same step of the loops."""
        return BodyScalar(self.op, value, self.loops)

    @property
    def without_casts(self) -> BodyScalar:
        """The scalar before conversions between float types."""
        found = self
        while found.inner is not None and found.inner.name in CASTS:
            found = found.other(found.inner.operands[0])
        return found


def place(map_: ir.AffineMap, loops: dict[int, Term]) -> Index:
    """What an indexing map gives for the terms of the loops."""
    terms: list[Term] = []
    for expression in map_.results:
        if isinstance(expression, ir.AffineDimExpr):
            terms.append(loops[expression.position])
        elif isinstance(expression, ir.AffineConstantExpr):
            terms.append(expression.value)
        else:
            raise Untraceable
    return tuple(terms)


def loops_at(op: StructuredOp, index: Index) -> dict[int, Term]:
    """The terms of the parallel loops of an op for an element of its result."""
    if len(op.op.results) != 1 or not op.writes_plainly:
        raise Untraceable
    return {loop: term for loop, term in zip(op.out_loops, index, strict=True) if loop is not None}


def yielded(op: StructuredOp, index: Index) -> BodyScalar:
    """The scalar that an elementwise op yields for an element of its result."""
    return BodyScalar(op, op.body[-1].operands[0], loops_at(op, index))


def elementwise(kernel: KernelOps, tensor: ir.Value) -> StructuredOp | None:
    """The elementwise op that makes a tensor and can be evaluated element by element; None where something else makes it."""
    maker = defining_op(tensor)
    op = kernel.op(maker) if maker is not None else None
    if op is None or op.op.name not in ("linalg.generic", "linalg.transpose") or not op.parallel:
        return None
    if op.gathers or len(op.op.results) != 1 or not op.writes_plainly:
        return None
    known = all(name.startswith(("arith.", "math.")) or name in VECTORIZABLE for name in op.body_names)
    return op if known else None


def root(kernel: KernelOps, scalar: BodyScalar) -> BodyScalar:
    """The scalar that one is a copy of, or a conversion, through elementwise ops; that ``operand`` is not None where it is an element of
    a tensor that no elementwise op makes."""
    while True:
        scalar = scalar.without_casts
        read = scalar.operand
        op = elementwise(kernel, read[0]) if read is not None else None
        if read is None or op is None:
            return scalar
        scalar = yielded(op, read[1])


def leaves(kernel: KernelOps, scalar: BodyScalar, stop: ir.Value | None = None,
           seen: set[tuple] | None = None, with_sizes: bool = False) -> Iterator[tuple[ir.Value, Index]]:
    """The elements that a scalar is computed from: of ``stop``, and of tensors that no elementwise op makes. Untraceable otherwise.
    ``seen``: the scalars that have been followed, each once: a clip reads its value twice, and a chain of many would have no end;
    ``with_sizes``: whether bodies may read scalars that the kernel computes of sizes."""
    seen = set() if seen is None else seen
    key = scalar.value, tuple(scalar.loops.items())
    if key in seen:
        return
    seen.add(key)
    read = scalar.operand
    if read is not None:
        tensor, index = read
        op = None if stop is not None and tensor == stop else elementwise(kernel, tensor)
        if op is None:
            yield tensor, index
        else:
            yield from leaves(kernel, yielded(op, index), stop, seen, with_sizes)
    elif (inner := scalar.inner) is not None:
        if not inner.name.startswith(("arith.", "math.")) and inner.name != "linalg.index":
            raise Untraceable
        for operand in inner.operands:
            yield from leaves(kernel, scalar.other(operand), stop, seen, with_sizes)
    elif (owner := defining_op(scalar.value)) is None or not owner.name.startswith(SIZES if with_sizes else "arith.constant"):
        raise Untraceable


def tensor_leaves(kernel: KernelOps, tensor: ir.Value, index: Index, stop: ir.Value,
                  with_sizes: bool = False) -> list[tuple[ir.Value, Index]]:
    """The elements that one of a tensor is computed from. ``with_sizes``: as for ``leaves``."""
    op = elementwise(kernel, tensor) if tensor != stop else None
    return [(tensor, index)] if op is None else list(leaves(kernel, yielded(op, index), stop, with_sizes=with_sizes))


def is_given(value: ir.Value, views: Collection[str] = VIEWS) -> bool:
    """Whether a value is an argument of the kernel, a view of one, or a constant. ``views``: the ops that make views."""
    owner = defining_op(value)
    return owner is None or owner.name == "arith.constant" or (owner.name in views and is_given(owner.operands[0], views))
