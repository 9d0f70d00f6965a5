"""Models of one ONNX op, of sizes that are known or symbols: ``Case``, and what its operands are drawn from."""
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import ModelProto, helper, numpy_helper

from .engines import PRECISIONS

Draw = Callable[[np.random.Generator, np.dtype], np.ndarray | None]      # of the precision that is measured


def real(*shape: int, dtype: type | None = None) -> Draw:
    """Normally distributed numbers, of the measured precision unless ``dtype`` is given."""
    return lambda rng, measured: rng.standard_normal(shape).astype(dtype or measured)


def positive(*shape: int, scale: float = 1.0, least: float = 0.1) -> Draw:
    """Numbers of the measured precision that are ``least`` or more."""
    return lambda rng, measured: (np.abs(rng.standard_normal(shape)) * scale + least).astype(measured)


def within(low: float, high: float, *shape: int) -> Draw:
    """Equally distributed numbers of the measured precision."""
    return lambda rng, measured: rng.uniform(low, high, shape).astype(measured)


def whole(low: int, high: int, *shape: int, dtype: type = np.int64) -> Draw:
    """Integers from ``low`` to ``high`` - 1."""
    return lambda rng, _: rng.integers(low, high, shape).astype(dtype)


def flags(*shape: int) -> Draw:
    """True for about half of the elements."""
    return lambda rng, _: rng.random(shape) < 0.5


def given(value: Any, dtype: type | None = None) -> Draw:
    """An array that is known; one of floats has the measured precision unless ``dtype`` is given."""
    array = np.array(value)
    return lambda _, measured: array.astype(dtype or (measured if array.dtype.kind == "f" else array.dtype))


def absent(_: np.random.Generator, __: np.dtype) -> None:
    """An operand that the node has not."""


@dataclass(frozen=True)
class Case:
    """A node with its operands, ``inputs`` before ``constants``. ``kept``: the axis of each input whose size is known even where others are
    symbols, from the end if negative: channels, or the elements of a row. None: no axis is. ``known``: the numbers of inputs of which all
    sizes are."""

    name: str
    op_type: str
    inputs: Sequence[Draw]
    constants: Sequence[Draw] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    kept: int | None = -1
    known: Collection[int] = ()
    opset: int = 21
    domain: str = ""

    def drawn(self, precision: str) -> tuple[list[np.ndarray], list[np.ndarray | None]]:
        """The inputs, and the constants; a constant is None where the node has no such operand. ``precision``: of ``PRECISIONS``."""
        rng, dtype = np.random.default_rng(0), np.dtype(PRECISIONS[precision])
        inputs = [array for draw in self.inputs if (array := draw(rng, dtype)) is not None]
        return inputs, [draw(rng, dtype) for draw in self.constants]

    def model(self, inputs: Sequence[np.ndarray], constants: Sequence[np.ndarray | None], symbolic: bool) -> ModelProto:
        """The model of these operands. ``symbolic``: all sizes but those of ``kept`` are symbols."""
        names, weights = [f"x{number}" for number in range(len(inputs))], [f"w{number}" for number in range(len(constants))]
        operands = names + [name if array is not None else "" for name, array in zip(weights, constants)]
        node = helper.make_node(self.op_type, operands, [f"y{number}" for number in range(self.outputs)], domain=self.domain,
                                **self.attributes)
        values = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype),
                                                self._sizes(name, array) if symbolic and number not in self.known else array.shape)
                  for number, (name, array) in enumerate(zip(names, inputs))]
        graph = helper.make_graph([node], self.op_type, values, [helper.make_empty_tensor_value_info(name) for name in node.output],
                                  [numpy_helper.from_array(array, name) for name, array in zip(weights, constants) if array is not None])
        opsets = [helper.make_opsetid("", self.opset), *([helper.make_opsetid(self.domain, 1)] if self.domain else [])]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def _sizes(self, name: str, array: np.ndarray) -> list[int | str]:
        kept = None if self.kept is None else self.kept % array.ndim if array.ndim > self.kept else None
        return [size if axis == kept else f"{name}_{axis}" for axis, size in enumerate(array.shape)]
