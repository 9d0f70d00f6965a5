"""A model on a Vulkan device: its kernels and weights, and for each combination of sizes the launches of a run as one submission."""
from __future__ import annotations

import base64
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from legato.runtime.device_records import DeviceRecords, wanted
from legato.runtime.recorder import RecordedCall
from legato.runtime.signature import dtype_of
from legato.runtime.sizes import symbol_values
from legato.runtime.vulkan.addresses import strides
from legato.runtime.vulkan.commands import write
from legato.runtime.vulkan.device import DeviceBuffer, DeviceKernel, the_device
from legato.runtime.vulkan.execution import Execution, Recorded
from legato.runtime.vulkan.plan import Run
from legato.runtime.vulkan.planned import DevicePart, PlannedLaunch, dense

KEPT = 16   # combinations of sizes whose submissions are kept


class VulkanModel:
    """A model that is ready to run. One run at a time: calls of several threads wait for each other."""

    def __init__(self, data: bytes, weights: Mapping[str, np.ndarray]) -> None:
        self.described = json.loads(data)
        self.device = the_device()
        self.lock = threading.RLock()
        self.kernels: dict[tuple[str, tuple[int, ...]], DeviceKernel] = {}
        self.strides: dict[str, dict[int, int]] = {}
        self.recorded: OrderedDict[tuple[int, ...], Recorded] = OrderedDict()
        self.calls = [RecordedCall(function, tuple(ops), flops, bytes_) for function, ops, flops, bytes_ in self.described.get("calls", ())]
        self.weights = {name: self.filled(np.asarray(array), f"the weight {name}") for name, array in weights.items()}
        self.constants = {name: self.filled(np.frombuffer(base64.b64decode(text), np.uint8), f"the constant {name}")
                          for name, text in self.described["constants"].items()}
        self.allocates = any(one["late"] for one in self.described["outputs"])
        self.device.add_user(self)

    def forget(self) -> None:
        """Drops what is recorded for sizes of earlier calls; the call in progress, if it is this thread's, keeps its own until it ends."""
        if self.lock.acquire(blocking=False):
            try:
                self.recorded.clear()
            finally:
                self.lock.release()

    def filled(self, array: np.ndarray, what: str) -> DeviceBuffer:
        """A buffer with the bytes of an array."""
        buffer = self.device.buffer(array.nbytes, what)
        write(buffer, array)
        return buffer

    def __call__(self, *arrays: np.ndarray) -> list[np.ndarray] | None:
        """One run: inputs, then outputs to fill. Where sizes of results depend on data, it takes inputs only, and returns the results."""
        count = len(arrays) - (0 if self.allocates else len(self.described["outputs"]))
        inputs, outputs = arrays[:count], arrays[count:]
        symbols = symbol_values([(axes, array.shape) for axes, array in zip(self.described["shapes"], inputs, strict=True)])
        records = wanted()
        key = (records is not None, *(symbols[name] for name in self.described["symbols"]))
        with self.lock:
            recorded = self.recorded.get(key) or self.prepare(key, symbols, inputs, outputs)
            self.recorded.move_to_end(key)
            for buffer, array in zip(recorded.inputs, inputs, strict=True):
                write(buffer, array)
            late = self.run(recorded, records)
            if self.allocates:
                return [result(*late[number], one["dtype"]) if one["late"] else result(buffer, shape, one["dtype"]) for number,
                        (one, buffer, shape) in enumerate(zip(self.described["outputs"], recorded.outputs, recorded.shapes, strict=True))]
            for buffer, array in zip(recorded.outputs, outputs, strict=True):
                array[...] = np.frombuffer(buffer.data, array.dtype, array.size).reshape(array.shape)
            return None

    def run(self, recorded: Recorded, records: DeviceRecords | None) -> dict[int, tuple[DeviceBuffer, tuple[int, ...]]]:
        """One run on given inputs. Returns the results whose sizes depend on data, by number."""
        def submit(submission: Any) -> None:
            begin = time.perf_counter_ns()
            self.device.submit(submission.commands, submission.done)
            if records is not None and submission.times is not None:
                records.add(self, self.device.name, self.calls, submission.times.events(begin))

        if recorded.is_whole:
            if recorded.first is not None:
                submit(recorded.first)
            return {}
        return Execution(self.device, self, recorded, submit, records is not None).run(self.described["main"])

    def prepare(self, key: tuple[int, ...], symbols: Mapping[str, int], inputs: Sequence[np.ndarray],
                outputs: Sequence[np.ndarray]) -> Recorded:
        """The buffers for these sizes, which are kept for later runs, as what is recorded for them. ``key``: whether its kernels are timed,
        and the sizes."""
        device = self.device
        arena, *sizes = self.sizes(symbols)
        rest = iter(sizes)
        shapes = [None if one["late"] else tuple(next(rest) for _ in range(one["rank"])) if self.allocates else array.shape
                  for one, array in zip(self.described["outputs"], outputs or self.described["outputs"], strict=True)]
        inner = device.buffer(arena, "the model's intermediate values", in_parts=True)
        recorded = Recorded([device.buffer(array.nbytes, f"input {i}") for i, array in enumerate(inputs)],
                            [inner if shape is None else device.buffer(prod(shape) * dtype_of(one["dtype"]).itemsize, f"output {i}")
                             for i, (shape, one) in enumerate(zip(shapes, self.described["outputs"]))], shapes)
        given, results = iter(recorded.inputs), iter(recorded.outputs)
        for one in self.described["arguments"]:
            if one["kind"] == "symbol":
                recorded.values.append(symbols[one["name"]])
                continue
            recorded.buffers.append(next(given) if one["kind"] == "input" else next(results) if one["kind"] == "output"
                                    else self.weights[one["name"]] if one["kind"] == "weight" else inner)
            recorded.values.append(DevicePart(len(recorded.buffers) - 1, 0, tuple(one["sizes"]), dense(one["sizes"])))
        recorded.constants = {name: len(recorded.buffers) + i for i, name in enumerate(self.constants)}
        recorded.buffers += self.constants.values()
        self.recorded[key] = recorded
        while len(self.recorded) > KEPT:
            self.recorded.popitem(last=False)
        return recorded

    def sizes(self, symbols: Mapping[str, int]) -> list[int]:
        """The bytes of intermediate values for these sizes; and the sizes of results that do not depend on data, where others do."""
        outputs = self.described["outputs"]
        run, found = Run(), [0] * (1 + sum(one["rank"] for one in outputs if not one["late"]) if self.allocates else 1)
        given = [symbols[name] for name in self.described["symbols"]]
        run.program(self.described["sizes"], [given, found])
        return found

    def kernel(self, launch: PlannedLaunch, by_address: tuple[int, ...]) -> DeviceKernel:
        """The kernel of a launch, made at its first use. ``by_address``: the buffers that it reaches by their addresses."""
        key = launch.kernel, by_address
        if key not in self.kernels:
            self.kernels[key] = self.device.kernel(launch.kernel, self.code(launch), len(launch.parts) + 1, by_address, len(launch.numbers),
                                                   launch.ops)
        return self.kernels[key]

    def items(self, launch: PlannedLaunch) -> dict[int, int]:
        """The bytes of an element of each buffer of a launch's kernel."""
        if launch.kernel not in self.strides:
            self.strides[launch.kernel] = strides(self.code(launch))
        return self.strides[launch.kernel]

    def code(self, launch: PlannedLaunch) -> bytes:
        """The SPIR-V of a launch's kernel."""
        return base64.b64decode(self.described["kernels"][launch.kernel])


def result(buffer: DeviceBuffer, shape: Sequence[int], dtype: str) -> np.ndarray:
    """A copy of what is in a buffer."""
    kind = dtype_of(dtype)
    return np.frombuffer(buffer.data, kind, prod(shape)).reshape(shape).copy()
