"""A random node at one call, and what it is drawn with."""
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from saturation import saturates

Array = np.ndarray
Shape = Sequence[int]


@dataclass
class DrawnNode:
    """A node at one call. ``constants``: the inputs that are initializers. A result may differ by ``unit``, or else by ``tolerance`` of
    the greatest element. ``written``: the elements that are compared of the outputs after the first. ``measured``: inputs that are the last
    size of a further input of the model. ``by_reference``: onnxruntime lacks it, ONNX's reference evaluator is asked."""

    op: str
    inputs: Sequence[Array | None]
    constants: Sequence[int] = ()
    outputs: Sequence[str] = ("y",)
    unit: float = 0
    tolerance: float = 2e-5
    domain: str = "com.microsoft"
    written: Array | None = None
    measured: dict[int, Array] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    opset: int = 21
    by_reference: bool = False


class Draw:
    """What is drawn for a node at one call: decisions and weights are those of all calls, sizes and data its own."""

    def __init__(self, seed: int, call: int, symbolic: bool):
        self.rng, self.sizes = Random(seed), Random(f"{seed} {call if symbolic else 0}")
        self.fixed, self.data = np.random.default_rng(seed), np.random.default_rng([seed, call])
        self.dtype = np.dtype(self.rng.choice((np.float32,) * 5 + (np.float16,)))

    @property
    def tolerance(self) -> float:
        return 2e-5 if self.dtype == np.float32 else 6e-3

    def size(self, *choices: int) -> int:
        """A size that may differ between calls."""
        return self.sizes.choice(choices or (1, 2, 3, 4, 5, 7, 8, 13, 16, 19))

    def width(self, *choices: int) -> int:
        """A size that is the same at all calls."""
        return self.rng.choice(choices or (1, 2, 3, 4, 7, 8, 16, 20, 33))

    def some(self, chance: float = 0.5) -> bool:
        return self.rng.random() < chance

    def normal(self, *shape: int) -> Array:
        return self.data.standard_normal(shape).astype(self.dtype)

    def weight(self, *shape: int) -> Array:
        return self.fixed.standard_normal(shape).astype(self.dtype)

    def positive(self, *shape: int) -> Array:
        """Weights from 0.01 to 0.2, in f32."""
        return (self.fixed.random(shape) * 0.19 + 0.01).astype(np.float32)

    def kept(self, *indices: int) -> list[int]:
        """Inputs that are constants, all or none of them."""
        return [*indices] if self.some(0.75) else []

    def byte(self) -> type:
        return self.rng.choice((np.uint8, np.int8))

    def bytes_of(self, dtype: type, shape: Shape, fixed: bool = False, halved: bool = False) -> Array:
        """``halved``: numbers whose products onnxruntime adds exactly."""
        limits, part = np.iinfo(dtype), 2 if halved and dtype is np.int8 and saturates() else 1
        return (self.fixed if fixed else self.data).integers(limits.min // part, (limits.max + 1) // part, shape).astype(dtype)

    def scale(self) -> Array:
        return np.array(self.rng.choice((0.5, 0.02, 0.07, 0.25, 1.0)), np.float32)

    def zero(self, dtype: type) -> Array:
        limits = np.iinfo(dtype)
        return np.array(self.rng.choice((0, 0, 3, 7, limits.min, limits.max)), dtype)

    def quantized(self, dtype: type, *shape: int) -> list[Array]:
        """A tensor, its scale and its zero point."""
        return [self.bytes_of(dtype, shape), self.scale(), self.zero(dtype)]

    def broadcast(self, shape: Shape) -> list[int]:
        """A shape that broadcasts to another."""
        kept = [*shape][self.rng.randint(0, len(shape)):] if self.some(0.4) else [*shape]
        return [1 if self.some(0.15) else size for size in kept]

    def shape(self, low: int = 1, high: int = 4) -> list[int]:
        return [self.size() for _ in range(self.rng.randint(low, high))]


Make = Callable[[Draw], DrawnNode]
