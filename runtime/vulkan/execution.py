"""One run of a model on a Vulkan device: what is planned is submitted when the host needs a number of the device, and at the end.

Up to the first such number a run of the same sizes is always the same: what is submitted until then is kept. For most models that is all.
"""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from legato.runtime.vulkan.commands import Kernels, Submission, record
from legato.runtime.vulkan.device import DeviceBuffer, VulkanDevice
from legato.runtime.vulkan.plan import Run
from legato.runtime.vulkan.times import DeviceTimes


@dataclass
class Recorded:
    """What is kept of the runs for one combination of sizes.

    ``inputs``, ``outputs``: buffers that the host fills and reads; ``shapes``: of the outputs, None where data decide. ``buffers``: all, by
    number. ``values``: of main's arguments. ``constants``: the numbers of the buffers that hold them, by name. ``first``: what is
    submitted before the host reads a number, ``is_whole`` if it reads none. ``rooms``: buffers asked for before that, in order; ``spare``:
    those asked for later, by number, for the next run.
    """

    inputs: list[DeviceBuffer]
    outputs: list[DeviceBuffer]
    shapes: list[tuple[int, ...] | None]
    buffers: list[DeviceBuffer] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    constants: dict[str, int] = field(default_factory=dict)
    first: Submission | None = None
    is_whole: bool = False
    rooms: list[DeviceBuffer] = field(default_factory=list)
    spare: dict[int, DeviceBuffer] = field(default_factory=dict)


class Execution:
    """One run. ``submit``: has the device do what is recorded, and waits; ``timed``: whether calls of kernels are timed."""

    def __init__(self, device: VulkanDevice, kernels: Kernels, recorded: Recorded, submit: Callable[[Submission], None],
                 timed: bool) -> None:
        self.device, self.kernels, self.recorded, self.submit, self.timed = device, kernels, recorded, submit, timed
        self.buffers = list(recorded.buffers)
        self.is_first = True
        self.asked = 0                              # buffers, before the first number is read
        self.rooms: dict[int, int] = {}             # the buffer of each number that memory was asked for with
        self.results: dict[int, tuple[DeviceBuffer, tuple[int, ...]]] = {}
        self.plan = Run(recorded.constants, self)

    def run(self, program: dict[str, Any]) -> dict[int, tuple[DeviceBuffer, tuple[int, ...]]]:
        """Runs main. Returns the results for which it asked for memory."""
        try:
            self.plan.program(program, self.recorded.values)
            is_whole = self.is_first and not self.results
            self.flush()
            self.recorded.is_whole = is_whole
            return self.results
        finally:
            self.plan.given = None      # the two refer to each other

    def flush(self) -> None:
        """Has the device do what is planned, and waits."""
        steps, calls = self.plan.taken()
        is_first, self.is_first = self.is_first, False
        if not steps:
            return
        submission = self.recorded.first if is_first else None
        if submission is None:
            submission = record(self.device, self.kernels, self.buffers, steps, DeviceTimes(self.device, calls) if self.timed else None)
        if is_first:
            self.recorded.first = submission
        self.submit(submission)

    def read(self, buffer: int, start: int, size: int) -> bytes:
        """The bytes at a place, once the device has done all that was planned so far."""
        self.flush()
        return bytes(self.buffers[buffer].data[start:start + size])

    def room(self, number: int, size: int) -> int:
        """A buffer of at least ``size`` bytes; the one that was given before for the number, if it suffices."""
        before = self.rooms.get(number)
        if before is None or self.buffers[before].size < size:
            if before is not None:
                size += size >> 1       # sizes that grow from step to step would take another buffer in each
            self.buffers.append(self.early(size) if self.is_first else self.late(number, size))
            self.rooms[number] = len(self.buffers) - 1
        return self.rooms[number]

    def early(self, size: int) -> DeviceBuffer:
        """The buffer for a request before the first number is read: that of the run before, to which the first submission refers."""
        if self.asked == len(self.recorded.rooms):
            self.recorded.rooms.append(self.device.buffer(size, "the model's intermediate values", in_parts=True))
        self.asked += 1
        return self.recorded.rooms[self.asked - 1]

    def late(self, number: int, size: int) -> DeviceBuffer:
        """The buffer for a later request: that of an earlier run, if it suffices."""
        spare = self.recorded.spare
        if number not in spare or spare[number].size < size:
            spare[number] = self.device.buffer(size, "the model's intermediate values", in_parts=True)
        return spare[number]

    def turn(self, number: int, size: int) -> int:
        """Likewise, of two numbers, this and the next one, that which was not given at the request before."""
        before = {one: self.rooms.pop(one) for one in (number, number + 1) if one in self.rooms}
        self.rooms |= {2 * number + 1 - one: place for one, place in before.items()}
        return self.room(number, size)

    def result(self, number: int, shape: tuple[int, ...], item: int) -> int:
        """A buffer for a result of main. ``item``: the bytes of an element."""
        size = item
        for one in shape:
            size *= one
        place = self.room(-1 - number, size)
        self.results[number] = self.buffers[place], shape
        return place
