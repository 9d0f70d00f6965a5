"""Where the dynamic sizes of a kernel's outputs come from, as its structured ops imply."""
from __future__ import annotations

from collections.abc import Iterator

from legato.analysis.structured import StructuredOp
from legato.core.mlir import func, ir
from legato.dialects import tir
from legato.dialects.tir.loops import constant_of

Dim = tuple[object, int]  # a tensor and its dimension, or a structured op and its loop
RESHAPES = ("tensor.expand_shape", "tensor.collapse_shape")
SIZED = {"tensor.empty": "dynamicSizes", "tensor.extract_slice": "sizes"}     # ops, and their operands that are the result's dynamic sizes


def size_sources(kernel: func.FuncOp) -> list[list[tuple[int, int] | None]]:
    """For each dimension of each output: an input, by its number, and its dimension of the same size; None where none is known."""
    arguments = list(kernel.arguments)
    inputs = arguments[: len(arguments) - tir.out_count(kernel)]
    parents: dict[Dim, Dim] = {}

    def first(dim: Dim) -> Dim:
        while dim in parents:
            dim = parents[dim]
        return dim

    ops = kernel.body.blocks[0].operations
    results = zip(ops[len(ops) - 1].operands, arguments[len(inputs):])
    for a, b in (*(pair for op in ops for pair in _equal(op.operation)),
                 *(((returned, dim), (out, dim)) for returned, out in results for dim in range(out.type.rank))):
        a, b = first(a), first(b)
        if a != b:
            parents[a] = b
    found: dict[Dim, tuple[int, int]] = {}
    for number, value in enumerate(inputs):
        for dim in range(value.type.rank if isinstance(value.type, ir.RankedTensorType) else 0):
            found.setdefault(first((value, dim)), (number, dim))
    return [[found.get(first((out, dim))) for dim in range(out.type.rank)] for out in arguments[len(inputs):]]


def _equal(op: ir.Operation) -> Iterator[tuple[Dim, Dim]]:
    """Pairs of dimensions that have the same size because of an op."""
    if op.name.startswith("linalg.") and len(op.results):
        structured = StructuredOp(op)
        for number, value in enumerate(op.operands):
            if isinstance(value.type, ir.RankedTensorType):
                yield from (((value, dim), (op, loop)) for dim, loop in enumerate(structured.loops_of(number)) if loop is not None)
        for value, out in zip(op.results, structured.outputs):
            yield from (((value, dim), (out, dim)) for dim in range(value.type.rank))
    elif op.name == "tensor.cast":
        yield from (((op.results[0], dim), (op.operands[0], dim)) for dim in range(op.results[0].type.rank))
    elif op.name in SIZED:
        result, sizes = op.results[0], getattr(op.opview, SIZED[op.name])
        for dim, size in zip((d for d in range(result.type.rank) if result.type.is_dynamic_dim(d)), sizes):
            owner = size.owner
            if not isinstance(owner, ir.Block) and owner.name == "tensor.dim" and (place := constant_of(owner.operands[1])) is not None:
                yield (result, dim), (owner.operands[0], place)
    elif op.name in RESHAPES:
        long, short = (op.results[0], op.operands[0]) if op.name == RESHAPES[0] else (op.operands[0], op.results[0])
        for dim, group in enumerate(op.attributes["reassociation"]):
            longer = [int(one.value) for one in group if long.type.shape[int(one.value)] != 1]
            if len(longer) == 1:
                yield (long, longer[0]), (short, dim)
