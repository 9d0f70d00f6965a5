"""Inputs that a module is run on: several sizes for its symbols, ordinary values, edge values, NaN and infinities."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from legato.checking.comparison import is_float
from legato.core.dtypes import as_dtype
from legato.core.errors import LegatoError
from legato.core.mlir import func
from legato.dialects.relax.dims import Dim, Size, substitute, symbols
from legato.dialects.relax.requirements import requirements
from legato.passes.memory.signature import Boundary

ODD = (17, 19, 23, 13, 29, 11)     # beside whole vectors and tiles, and different for each symbol
BEYOND = 67                        # more than eight vectors of f32, the largest tile of elementwise kernels of AVX2, and no multiple
LARGE = (33, 67, 131, 259)         # for models whose layers shrink what is smaller
KINDS = ("ordinary", "edges", "specials")
EDGES = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -3.0, 1e-6, 100.0, -100.0)
SPECIALS = (np.nan, np.inf, -np.inf, 0.0, -0.0)


@dataclass(frozen=True, eq=False)
class InputSample:
    """Arguments of one run. ``sizes``: of the symbols; ``kind``: of the values; ``arrays``: in main's order; ``names``: of the inputs."""

    sizes: dict[str, int]
    kind: str
    names: tuple[str, ...]
    arrays: tuple[np.ndarray, ...]

    def __str__(self) -> str:
        at = ", ".join(f"{name} = {value}" for name, value in self.sizes.items())
        return f"{self.values}{f' at {at}' if at else ''}"

    @property
    def values(self) -> str:
        """What the values are, in words."""
        return {"edges": "edge values", "specials": "NaN and infinities"}.get(self.kind, f"{self.kind} values")


def size_choices(main: func.FuncOp) -> list[dict[str, int]]:
    """Values for the symbols of main's inputs, most telling first: odd and different ones, some beyond the tiles of kernels, 1, 0, small
    ones, equal ones, and large ones for models that need them."""
    names = sorted({name for value in Boundary.of(main).inputs for size in value.shape for name in symbols(size)})
    if not names:
        return [{}]
    choices = [{name: ODD[n % len(ODD)] + 18 * (n // len(ODD)) for n, name in enumerate(names)},
               {name: BEYOND + 2 * n for n, name in enumerate(names)}, dict.fromkeys(names, 1), dict.fromkeys(names, 0),
               {name: 3 + 2 * n for n, name in enumerate(names)}, dict.fromkeys(names, 17)]
    return choices + [dict.fromkeys(names, size) for size in LARGE]


def meets(main: func.FuncOp, sizes: dict[str, int]) -> bool:
    """Whether sizes meet the requirements that are recorded on main."""
    for one in requirements(main):
        size, equal = substitute(one.size, sizes), one.equal if one.equal is None else substitute(one.equal, sizes)
        if not one.is_bytes and isinstance(size, int) and (size != equal if isinstance(equal, int) else equal is None and size < 0):
            return False
    return True


def samples(main: func.FuncOp, sizes: dict[str, int], kinds: Sequence[str] = KINDS, seed: int = 0) -> Iterator[list[InputSample]]:
    """For each kind of values the samples to try, of which the first that the model takes is used: integers may be indices."""
    inputs = Boundary.of(main).inputs
    names = tuple(value.name for value in inputs)
    concrete = [[_number(size, sizes) for size in value.shape] for value in inputs]
    dtypes = [as_dtype(value.dtype) for value in inputs]
    if any(size < 0 for shape in concrete for size in shape):
        return
    integers = any(dtype.kind in "iu" for dtype in dtypes)
    for number, kind in enumerate(kinds):
        if kind != "ordinary" and not any(is_float(d) or d.kind in "iu" for d in dtypes):
            continue
        if kind == "specials" and not any(map(is_float, dtypes)):
            continue
        ranges = ((-100, 100), (-3, 4), (0, 3), (0, 2), (0, 1), (1, 2)) if integers else ((0, 1),)
        if kind == "edges" and integers:
            ranges = (None, *ranges)   # pyright: ignore[reportAssignmentType]
        tried = []
        for range_ in ranges:
            random = np.random.default_rng((seed, number))
            tried.append(InputSample(sizes, kind, names, tuple(_array(random, shape, dtype, kind, range_)
                                                          for shape, dtype in zip(concrete, dtypes))))
        yield tried


def _number(size: Size, sizes: dict[str, int]) -> int:
    value = substitute(size, sizes) if isinstance(size, Dim) else size
    if not isinstance(value, int):
        raise LegatoError(f"the size {size} of an input has no value")
    return value


def _array(random: np.random.Generator, shape: Sequence[int], dtype: np.dtype, kind: str, integers: tuple[int, int] | None) -> np.ndarray:
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if not is_float(dtype):
        if integers is None:
            limits = np.iinfo(dtype)
            return random.choice(np.array([limits.min, limits.max, 0, 1, limits.max // 2], dtype), shape)
        low = max(integers[0], int(np.iinfo(dtype).min))
        return random.integers(low, integers[1], shape).astype(dtype)
    values = random.standard_normal(shape)
    if kind != "ordinary":
        chosen = random.choice(EDGES if kind == "edges" else SPECIALS, shape)
        values = np.where(random.random(shape) < (0.5 if kind == "edges" else 0.1), chosen, values)
    return values.astype(dtype)


def given_sample(main: func.FuncOp, arrays: Sequence[np.ndarray]) -> InputSample:
    """A sample of the user's arrays. LegatoError if they are not as many as the inputs, or do not fit them."""
    inputs = Boundary.of(main).inputs
    if len(arrays) != len(inputs):
        names = ", ".join(value.name for value in inputs)
        raise LegatoError(f"main has {len(inputs)} inputs ({names}), and {len(arrays)} arrays were given")
    sizes: dict[str, int] = {}
    taken = []
    for value, array in zip(inputs, map(np.asarray, arrays)):
        if len(value.shape) != array.ndim or any(isinstance(n, int) and n != m for n, m in zip(value.shape, array.shape)):
            raise LegatoError(f"the input '{value.name}' is {value}, and the array for it is {array.dtype}{list(array.shape)}")
        sizes |= {str(size): length for size, length in zip(value.shape, array.shape) if isinstance(size, Dim) and size.is_symbol}
        taken.append(array.astype(as_dtype(value.dtype)))
    return InputSample(sizes, "given", tuple(value.name for value in inputs), tuple(taken))
