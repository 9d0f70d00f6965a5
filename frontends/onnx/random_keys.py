"""The keys of nodes that draw random numbers: all are made of one input of main, ``random_seed``, whose default is 0.

A node's key is the seed's with the node's number folded in, or the bits of its attribute ``seed``, and then the number of the step in each
loop around it. So a call says by its seed which numbers it gets, no two nodes draw the same, and no two steps.
"""
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import numpy as np

from legato.core.mlir import func, ir
from legato.core.weights import WeightStore
from legato.dialects import relax
from legato.dialects.relax.markers import NAME
from legato.dialects.relax.types import TensorType

NAME_OF_SEED = "random_seed"
OF_SEEDS = 0    # the number that leads to the keys of nodes with the attribute seed; those of the others begin behind it
U64, I64 = np.dtype(np.uint64), np.dtype(np.int64)


class RandomKeys:
    """Makes the keys, and adds the input to main for the first of them. ``name``: of the input, None as long as there is none;
    ``made``: how many keys there are."""

    def __init__(self, function: func.FuncOp, taken: Collection[str]) -> None:
        """``taken``: the names of main's other inputs."""
        self.name: str | None = None
        self.made = 0
        self._function, self._taken = function, taken
        self._of_model: ir.Value | None = None
        self._count = OF_SEEDS
        self._steps: list[ir.Value | int] = []

    @contextmanager
    def step(self, number: "ir.Value | int") -> Iterator[None]:
        """The context in which a loop's body is imported. ``number``: of its step, an integer tensor of rank 0 if a call computes it."""
        self._steps.append(number)
        try:
            yield
        finally:
            self._steps.pop()

    def key(self, seed: float | None) -> ir.Value:
        """A key at the insertion point, for one node. ``seed``: its attribute, a float, or an int of Dropout."""
        if self._of_model is None:
            self._of_model = self._of_seed()
        self.made += 1
        if seed is None:
            self._count += 1
            key = _folded(self._of_model, self._count)
        else:
            bits = seed if isinstance(seed, int) else int(np.float32(seed).view(np.uint32))
            key = _folded(_folded(self._of_model, OF_SEEDS), bits)
        for number in self._steps:
            key = _folded(key, number)
        return key

    def default(self, weights: WeightStore) -> dict[str, str]:
        """The input's default, as the weight's key by its name; empty if there is none."""
        return {} if self.name is None else {self.name: weights.add(self.name, np.zeros((), I64))}

    def _of_seed(self) -> ir.Value:
        """The key of the seed, at the begin of main: its bits, as ``jax.random.key`` makes it."""
        self.name, number = NAME_OF_SEED, 0
        while self.name in self._taken:
            number += 1
            self.name = f"{NAME_OF_SEED}_{number}"
        block = self._function.entry_block
        with ir.Location.name(self.name):
            seed = block.add_argument(TensorType((), I64).ir(), ir.Location.current)
            types = [argument.type for argument in block.arguments]
            attributes = [*self._function.attributes["arg_attrs"], ir.DictAttr.get({NAME: ir.StringAttr.get(self.name)})]
            self._function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, self._function.type.results))
            self._function.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
            with ir.InsertionPoint.at_block_begin(block):
                return relax.astype(seed, dtype=U64)


def _folded(key: ir.Value, number: "ir.Value | int") -> ir.Value:
    data = relax.astype(number, dtype=U64) if isinstance(number, ir.Value) else relax.constant(np.array(number % (1 << 64), U64))
    return relax.fold_in(key, data)
