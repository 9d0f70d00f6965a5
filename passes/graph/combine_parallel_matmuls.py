"""relax-combine-parallel-matmuls: products of one matrix by several constant ones, whose results are heads, become one product.

Queries, keys and values of an attention are three products of the same rows. On a GPU each is a launch, and so small that most of the
device is idle. One product by the matrices side by side gives the heads of all; each reads its slice of them.
"""
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from legato.core.ir_helpers import only_user, present
from legato.core.mlir import ir
from legato.dialects import relax
from legato.dialects.module import Module
from legato.dialects.relax.dims import UNKNOWN, Size, dims, product
from legato.passes.graph.functions import (
    Constants,
    erase_dead,
    graph_ops,
    has_one_use,
    is_constant,
    relax_functions,
    replace_uses,
)
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.rounding import EXACT, Rounding

RESHAPES = ("relax.reshape", "relax.expand_dims", "relax.squeeze")


@dataclass(frozen=True)
class CombineParallelMatmuls(ModulePass):
    """Combines products of the same left factor by constants, with the biases that are added to them, whose results are all reshaped to
    heads of one size. To be run after constants are folded. TVM's pass of the same name combines more: any results, and only where a
    pattern says so."""

    name: ClassVar[str] = "relax-combine-parallel-matmuls"
    rounding: ClassVar[Rounding] = EXACT

    def run(self, module: Module, context: PassContext) -> None:
        constants = Constants(module)
        for function in relax_functions(module):
            groups: dict[tuple[object, ...], list[HeadsProduct]] = {}
            for op in graph_ops(function):
                if (found := HeadsProduct.of(op)) is not None:
                    groups.setdefault(found.shared, []).append(found)
            for parts in groups.values():
                if len(parts) > 1:
                    combine(parts, constants)
            erase_dead(function, constants)


@dataclass(frozen=True)
class HeadsProduct:
    """A product by a constant whose result, with ``bias`` (None without one) added to it, is reshaped to ``heads``: these ``rows``, heads,
    and the elements of one."""

    op: ir.Operation
    bias: ir.Value | None
    heads: ir.Value
    rows: tuple[Size, ...]

    @classmethod
    def of(cls, op: ir.Operation) -> "HeadsProduct | None":
        """What an op is the product of; None for another op."""
        if op.name != "relax.matmul" or not is_sized_constant(weight := op.operands[1]) or weight.type.rank != 2 or not has_one_use(weight):
            return None
        made, bias = op.results[0], None
        user = only_user(made)
        if user is not None and user.name == "relax.add":
            bias = next((one for one in user.operands if one != made), None)
            if bias is None or not is_sized_constant(bias) or list(bias.type.shape) != [weight.type.shape[1]]:
                return None
            made = user.results[0]
        while (user := only_user(made)) is not None and user.name in RESHAPES:
            made = user.results[0]
            sizes = dims(made.type)
            places = [place for place in range(1, len(sizes) - 1) if product(sizes[place:]) == weight.type.shape[1]]
            if UNKNOWN not in sizes and places and isinstance(sizes[-1], int) and sizes[-1]:
                return cls(op, bias, made, sizes[:places[-1]])
        return None

    @property
    def shared(self) -> tuple[object, ...]:
        """What products that are combined have in common: the block, the rows' matrix, its rows as the heads have them, and their size."""
        rows = tuple(size for size in self.rows if size != 1)
        return self.op.block, self.op.operands[0], str(self.heads.type.element_type), rows, self.heads.type.shape[-1]

    @property
    def count(self) -> int:
        """The number of heads."""
        return self.op.results[0].type.shape[-1] // self.heads.type.shape[-1]


def is_sized_constant(value: ir.Value) -> bool:
    """Whether a value is a constant of known shape."""
    return is_constant(value) and value.type.has_static_shape


def combine(parts: Sequence[HeadsProduct], constants: Constants) -> None:
    """Puts one product in place of several, in front of the first."""
    first = parts[0].op
    weights = [part.op.operands[1] for part in parts]
    biases = [part.bias for part in parts]
    rows, size = list(parts[0].rows), parts[0].heads.type.shape[-1]
    with ir.InsertionPoint(first), ir.Location.fused([part.op.location for part in parts]):
        made = relax.matmul(first.operands[0], side_by_side(weights, constants))
        if any(bias is not None for bias in biases):
            made = relax.add(made, added(parts, constants))
        heads, begin = relax.reshape(made, [*rows, sum(part.count for part in parts), size]), 0
        for part in parts:
            own = relax.strided_slice(heads, begin=[begin], end=[begin + part.count], strides=[1], axes=[len(rows)])
            wanted = dims(part.heads.type)
            replace_uses(part.heads, own if dims(own.type) == wanted else relax.reshape(own, list(wanted)))
            begin += part.count


def side_by_side(weights: Sequence[ir.Value], constants: Constants) -> ir.Value:
    """A constant of the columns of all."""
    arrays = [present(constants.array(weight)) for weight in weights]
    shape = [arrays[0].shape[0], sum(array.shape[1] for array in arrays)]
    return constants.build_later(lambda out: np.concatenate(arrays, axis=1, out=out), shape, arrays[0].dtype, constants.name_of(*weights))


def added(parts: Sequence[HeadsProduct], constants: Constants) -> ir.Value:
    """A constant of the biases of all; of those without one -0, which changes no number."""
    given = [None if part.bias is None else present(constants.array(part.bias)) for part in parts]
    dtype = next(array.dtype for array in given if array is not None)
    zeros = (np.full(part.op.operands[1].type.shape[1], -0.0, dtype) for part in parts)
    array = np.concatenate([zero if array is None else array for zero, array in zip(zeros, given)])
    return constants.build(array, constants.name_of(*(part.bias for part in parts if part.bias is not None)))
