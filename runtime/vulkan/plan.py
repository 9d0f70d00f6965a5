"""Programs of a model's host part: sizes, parts of buffers, launches. ``codegen.launch_plan`` writes them."""
from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from legato.core.errors import LegatoError
from legato.runtime.signature import dtype_of
from legato.runtime.vulkan.arithmetic import BINARY, COMPARE, FLOAT_BINARY, LIMIT, UNARY, wrapped
from legato.runtime.vulkan.planned import DevicePart, PlannedCopy, PlannedLaunch, PlannedStep, PlannedWrite, RunDevice, dense, regions

MOST_ELEMENTS = (1 << 31) - (1 << 16)    # of a buffer: kernels compute indices a tile beyond its end, in 32 bits


class HostNumbers(list):
    """A small buffer that the host fills, the last one of a launch."""


class Run:
    """One run of a program: ``launches`` in order. ``constants``: the numbers of the buffers that hold them, by name. ``device``: for what
    the run needs to know in the middle; it takes away what is planned by then (``taken``). ``calls``: main's calls of kernels, by number,
    in the order in which it makes them."""

    def __init__(self, constants: Mapping[str, int] | None = None, device: RunDevice | None = None) -> None:
        self.values: dict[int, Any] = {}
        self.launches: list[PlannedStep] = []
        self.constants = constants or {}
        self.given = device
        self.calls: list[int] = []
        self.turn = -1

    @property
    def device(self) -> RunDevice:
        """The device. LegatoError for a run without one."""
        if self.given is None:
            raise LegatoError("the sizes of a call depend on what the device has computed")
        return self.given

    def taken(self) -> tuple[list[PlannedStep], list[int]]:
        """What is planned and not taken yet, and the calls that the turns in it count. A call that goes on is the first of the next."""
        launches, calls = self.launches, self.calls
        self.launches, self.calls = [], []
        if self.turn >= 0:
            self.calls, self.turn = [calls[self.turn]], 0
        return launches, calls

    def program(self, program: dict[str, Any], arguments: Sequence[Any]) -> None:
        """Runs a program on the values of its arguments."""
        self.values.update(zip(program["arguments"], arguments, strict=True))
        self.steps(program["steps"])

    def steps(self, steps: Sequence[list[Any]]) -> None:
        """Runs steps in order."""
        for name, *rest in steps:
            if name in BINARY:
                value = BINARY[name](self.values[rest[1]], self.values[rest[2]])
                self.values[rest[0]] = value if -LIMIT <= value < LIMIT else wrapped(value, 64)
            elif name in FLOAT_BINARY:
                self.values[rest[0]] = FLOAT_BINARY[name](self.values[rest[1]], self.values[rest[2]])
            elif name in UNARY:
                self.values[rest[0]] = UNARY[name](self.values[rest[1]])
            else:
                getattr(self, f"do_{name}")(*rest)

    def number(self, size: Any) -> int:
        """A number, or the value of the register in a list of one."""
        return self.values[size[0]] if isinstance(size, list) else size

    def do_const(self, result: int, value: float) -> None:
        """A constant."""
        self.values[result] = value

    def do_wrap(self, result: int, value: int, bits: int) -> None:
        """An integer of fewer bits."""
        self.values[result] = wrapped(self.values[value], bits)

    def do_int(self, result: int, value: int, what: str) -> None:
        """A float as an integer. ``what``: the op. ValueError for one that is no size: NaN, an infinity, beyond 64 bits."""
        number = self.values[value]
        if not -LIMIT <= number < LIMIT:
            raise ValueError(f"main cannot run on these inputs: {what}: a size is {number}; pass finite numbers from which sizes follow")
        self.values[result] = int(number)

    def do_unsigned(self, result: int, value: int, bits: int) -> None:
        """An integer of so many bits without its sign."""
        self.values[result] = self.values[value] & ((1 << bits) - 1)

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

    def do_room(self, result: int, number: int, sizes: Sequence[int]) -> None:
        """Memory for buffers of a size that was not known before."""
        self.values[result] = DevicePart(self.device.room(number, self.values[sizes[0]]), 0)

    def do_turn(self, result: int, number: int, sizes: Sequence[int]) -> None:
        """Memory for what a loop carries to its next step."""
        self.values[result] = DevicePart(self.device.turn(number, self.values[sizes[0]]), 0)

    def do_result(self, result: int, number: int, sizes: Sequence[int], item: int) -> None:
        """Memory for a result of main. ``item``: the bytes of an element."""
        self.values[result] = DevicePart(self.device.result(number, tuple(self.values[size] for size in sizes), item), 0)

    def place(self, part: int, places: Sequence[int], item: int) -> tuple[int, int]:
        """The buffer of an element, and its first byte."""
        given: DevicePart = self.values[part]
        element = given.offset + sum(self.values[one] * stride for one, stride in zip(places, given.strides))
        return given.buffer, given.start + element * item

    def do_read(self, result: int, part: int, places: Sequence[int], dtype: str) -> None:
        """Reads an element from the device, as a number."""
        kind = dtype_of(dtype)
        value = np.frombuffer(self.device.read(*self.place(part, places, kind.itemsize), kind.itemsize), kind)[0]
        self.values[result] = float(value) if kind.kind not in "bi" else int(value)

    def do_write(self, value: int, part: int, places: Sequence[int], dtype: str) -> None:
        """Writes a number to the device."""
        kind = dtype_of(dtype)
        data = np.array(self.values[value], kind).tobytes()
        self.launches.append(PlannedWrite(*self.place(part, places, kind.itemsize), data, self.turn))

    def do_call(self, number: int) -> None:
        """The beginning of a call of main's, by its number, or, with -1, its end."""
        self.turn = -1
        if number >= 0:
            self.turn = len(self.calls)
            self.calls.append(number)

    def do_launch(self, kernel: str, grid: Sequence[int], buffers: Sequence[int], ops: str) -> None:
        """A launch, unless its grid is empty. LegatoError for numbers, and for places of elements, that the kernels' 32 bits do not
        hold."""
        size = tuple(self.values[one] for one in grid)
        *parts, numbers = (self.values[one] for one in buffers)
        if any(not -(1 << 31) <= one < 1 << 31 for one in (*numbers, *size)):
            raise LegatoError(f"{ops or kernel}: a size of {max(map(abs, (*numbers, *size)))} is beyond the 32 bits of a Vulkan kernel")
        if (elements := max((part.reach(1) for part in parts), default=0)) > MOST_ELEMENTS:
            raise LegatoError(f"{ops or kernel}: a buffer of {elements} elements is beyond the 32 bits of a Vulkan kernel's indices, "
                              f"which reach {MOST_ELEMENTS}")
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

    def do_while(self, tested: Sequence[list[Any]], condition: int, body: Sequence[list[Any]]) -> None:
        """A loop that ends where a condition does not hold."""
        while True:
            self.steps(tested)
            if not self.values[condition]:
                return
            self.steps(body)

    def do_for(self, counter: int, first: int, end: int, step: int, body: Sequence[list[Any]]) -> None:
        """A loop."""
        for value in range(self.values[first], self.values[end], self.values[step]):
            self.values[counter] = value
            self.steps(body)
