"""Programs of a model's host part: sizes, parts of buffers, launches. ``codegen.launch_plan`` writes them."""
from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from legato.core.errors import LegatoError


def _div(a: int, b: int) -> int:
    """Division towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


BINARY: dict[str, Callable[[int, int], int]] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": _div, "rem": lambda a, b: a - _div(a, b) * b,
    "floordiv": operator.floordiv, "mod": operator.mod, "ceildiv": lambda a, b: -(-a // b), "max": max, "min": min,
    "and": operator.and_, "or": operator.or_, "xor": operator.xor,
}
COMPARE = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}


@dataclass(frozen=True)
class DevicePart:
    """A part of a buffer. ``buffer``: which; ``start``: its first byte; ``offset``, ``strides``: in elements, from there."""

    buffer: int
    start: int
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    offset: int = 0


@dataclass(frozen=True)
class PlannedLaunch:
    """One launch: the kernel, the grid, the parts of buffers that it gets, its sizes (the last buffer), and the graph ops of it. ``turn``:
    the call of main's that makes it, counted from 0; -1 for none."""

    kernel: str
    grid: tuple[int, int, int]
    parts: tuple[DevicePart, ...]
    numbers: tuple[int, ...]
    ops: str
    turn: int = -1


@dataclass(frozen=True)
class PlannedCopy:
    """A copy of one part of a buffer to another. ``regions``: where each contiguous one begins in the two buffers, and its bytes.
    ``turn``: as of a launch."""

    source: DevicePart
    target: DevicePart
    regions: tuple[tuple[int, int, int], ...]
    turn: int = -1


class HostNumbers(list):
    """A small buffer that the host fills, the last one of a launch."""


class Run:
    """One run of a program: ``launches`` in order. ``constants``: the numbers of the buffers that hold them, by name. ``calls``: main's
    calls of kernels, by number, in the order in which it makes them."""

    def __init__(self, constants: Mapping[str, int] | None = None) -> None:
        self.values: dict[int, Any] = {}
        self.launches: list[PlannedLaunch | PlannedCopy] = []
        self.constants = constants or {}
        self.calls: list[int] = []
        self.turn = -1

    def program(self, program: dict[str, Any], arguments: Sequence[Any]) -> None:
        """Runs a program on the values of its arguments."""
        self.values.update(zip(program["arguments"], arguments, strict=True))
        self.steps(program["steps"])

    def steps(self, steps: Sequence[list[Any]]) -> None:
        """Runs steps in order."""
        for name, *rest in steps:
            if name in BINARY:
                self.values[rest[0]] = BINARY[name](self.values[rest[1]], self.values[rest[2]])
            else:
                getattr(self, f"do_{name}")(*rest)

    def number(self, size: Any) -> int:
        """A number, or the value of the register in a list of one."""
        return self.values[size[0]] if isinstance(size, list) else size

    def do_const(self, result: int, value: int) -> None:
        """A constant."""
        self.values[result] = value

    def do_constant(self, result: int, name: str, sizes: Sequence[int]) -> None:
        """A constant tensor."""
        self.values[result] = DevicePart(self.constants[name], 0, tuple(sizes), dense(sizes))

    def do_cmp(self, result: int, how: str, a: int, b: int) -> None:
        """A comparison."""
        self.values[result] = int(COMPARE[how](self.values[a], self.values[b]))

    def do_select(self, result: int, condition: int, a: int, b: int) -> None:
        """One of two values."""
        self.values[result] = self.values[a if self.values[condition] else b]

    def do_require(self, text: str, sizes: Sequence[int]) -> None:
        """What a branch or loop requires: one size is not negative, or two are equal. ValueError as of a model in native code."""
        found, *wanted = (self.values[size] for size in sizes)
        if wanted and [found] != wanted:
            raise ValueError(f"main cannot run on these sizes: {text} (expected {wanted[0]}, found {found})")
        if not wanted and found < 0:
            raise ValueError(f"main cannot run on inputs of these sizes: {text} (off by {-found})")

    def do_dim(self, result: int, part: int, axis: int) -> None:
        """The size of a dimension."""
        self.values[result] = self.values[part].sizes[self.values[axis]]

    def do_metadata(self, results: Sequence[int], part: int) -> None:
        """The base, offset, sizes and strides of a part."""
        given: DevicePart = self.values[part]
        base = DevicePart(given.buffer, given.start)
        self.values.update(zip(results, (base, given.offset, *given.sizes, *given.strides), strict=True))

    def do_view(self, result: int, part: int, shift: int, sizes: Sequence[Any]) -> None:
        """A dense part of an arena, from a byte."""
        given: DevicePart = self.values[part]
        found = tuple(map(self.number, sizes))
        self.values[result] = DevicePart(given.buffer, given.start + self.values[shift], found, dense(found))

    def do_recast(self, result: int, part: int, offset: Sequence[Any], sizes: Sequence[Any], strides: Sequence[Any]) -> None:
        """A part with other sizes, from the same first byte."""
        given: DevicePart = self.values[part]
        self.values[result] = DevicePart(given.buffer, given.start, tuple(map(self.number, sizes)), tuple(map(self.number, strides)),
                                   self.number(offset[0]))

    def do_subview(self, result: int, part: int, offsets: Sequence[Any], sizes: Sequence[Any], strides: Sequence[Any]) -> None:
        """A part of a part, of the same rank."""
        given: DevicePart = self.values[part]
        offset = given.offset + sum(self.number(o) * stride for o, stride in zip(offsets, given.strides))
        self.values[result] = DevicePart(given.buffer, given.start, tuple(map(self.number, sizes)),
                                   tuple(self.number(s) * stride for s, stride in zip(strides, given.strides)), offset)

    def do_numbers(self, result: int, count: int) -> None:
        """A small buffer for the host's numbers."""
        self.values[result] = HostNumbers([0] * count)

    def do_put(self, value: int, buffer: int, place: int) -> None:
        """Writes a number."""
        self.values[buffer][self.values[place]] = self.values[value]

    def do_get(self, result: int, buffer: int, place: int) -> None:
        """Reads a number."""
        self.values[result] = self.values[buffer][self.values[place]]

    def do_call(self, number: int) -> None:
        """The beginning of a call of main's, by its number, or, with -1, its end."""
        self.turn = -1
        if number >= 0:
            self.turn = len(self.calls)
            self.calls.append(number)

    def do_launch(self, kernel: str, grid: Sequence[int], buffers: Sequence[int], ops: str) -> None:
        """A launch, unless its grid is empty. LegatoError for numbers that the kernels' 32 bits do not hold."""
        size = tuple(self.values[one] for one in grid)
        *parts, numbers = (self.values[one] for one in buffers)
        if any(not -(1 << 31) <= one < 1 << 31 for one in (*numbers, *size)):
            raise LegatoError(f"{ops or kernel}: a size of {max(map(abs, (*numbers, *size)))} is beyond the 32 bits of a Vulkan kernel")
        if 0 not in size:
            self.launches.append(PlannedLaunch(kernel, (size[0], size[1], size[2]), tuple(parts), tuple(numbers), ops, self.turn))

    def do_copy(self, source: int, target: int, item: int) -> None:
        """A copy, unless it is empty. ``item``: bytes of an element."""
        given, to = self.values[source], self.values[target]
        if prod(given.sizes):
            self.launches.append(PlannedCopy(given, to, regions(given, to, item), self.turn))

    def do_set(self, results: Sequence[int], given: Sequence[int]) -> None:
        """Moves values to other registers, all at once."""
        self.values.update(zip(results, [self.values[one] for one in given], strict=True))

    def do_if(self, condition: int, then: Sequence[list[Any]], other: Sequence[list[Any]]) -> None:
        """A branch."""
        self.steps(then if self.values[condition] else other)

    def do_for(self, counter: int, first: int, end: int, step: int, body: Sequence[list[Any]]) -> None:
        """A loop."""
        for value in range(self.values[first], self.values[end], self.values[step]):
            self.values[counter] = value
            self.steps(body)


def regions(source: DevicePart, target: DevicePart, item: int) -> tuple[tuple[int, int, int], ...]:
    """The contiguous regions of two parts of the same sizes: the first byte of each in both buffers, and its bytes."""
    axes, count = len(source.sizes), item
    while axes and all(source.sizes[axes - 1] == 1 or part.strides[axes - 1] * item == count for part in (source, target)):
        axes -= 1
        count *= source.sizes[axes]

    def starts(part: DevicePart) -> list[int]:
        found = [part.start + part.offset * item]
        for size, stride in zip(part.sizes[:axes], part.strides):
            found = [at + i * stride * item for at in found for i in range(size)]
        return found

    return tuple((a, b, count) for a, b in zip(starts(source), starts(target)))


def dense(sizes: Sequence[int]) -> tuple[int, ...]:
    """The strides of a dense buffer in row-major order."""
    found, product = [], 1
    for size in reversed(sizes):
        found.insert(0, product)
        product *= size
    return tuple(found)
