"""A model on a Vulkan device: its kernels and weights, and for each combination of sizes the launches of a run as one submission."""
from __future__ import annotations

import base64
import json
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from legato.core.errors import LegatoError
from legato.runtime.device_records import wanted
from legato.runtime.recorder import RecordedCall
from legato.runtime.sizes import symbol_values
from legato.runtime.vulkan.device import DeviceBuffer, DeviceKernel, VulkanDevice, the_device
from legato.runtime.vulkan.plan import DevicePart, PlannedCopy, PlannedLaunch, Run, dense
from legato.runtime.vulkan.times import DeviceTimes

KEPT = 16   # combinations of sizes whose submissions are kept


@dataclass
class Recorded:
    """The launches of a run for one combination of sizes. ``inputs``, ``outputs``: the buffers that the host fills and reads."""

    commands: Any
    inputs: list[DeviceBuffer]
    outputs: list[DeviceBuffer]
    times: DeviceTimes | None = None    # of the kernels, where they are wanted
    kept: list[Any] = field(default_factory=list)   # what the commands refer to


class VulkanModel:
    """A model that is ready to run. One run at a time: calls of several threads wait for each other."""

    def __init__(self, data: bytes, weights: Mapping[str, np.ndarray]) -> None:
        self.described = json.loads(data)
        self.device = the_device()
        self.lock = threading.Lock()
        self.kernels: dict[str, DeviceKernel] = {}
        self.recorded: OrderedDict[tuple[int, ...], Recorded] = OrderedDict()
        self.calls = [RecordedCall(function, tuple(ops), flops, bytes_) for function, ops, flops, bytes_ in self.described.get("calls", ())]
        self.weights = {name: self.filled(np.asarray(array), f"the weight {name}") for name, array in weights.items()}
        self.constants = {name: self.filled(np.frombuffer(base64.b64decode(text), np.uint8), f"the constant {name}")
                          for name, text in self.described["constants"].items()}

    def filled(self, array: np.ndarray, what: str) -> DeviceBuffer:
        """A buffer with the bytes of an array."""
        buffer = self.device.buffer(array.nbytes, what)
        write(buffer, array)
        return buffer

    def __call__(self, *arrays: np.ndarray) -> None:
        """One run: inputs, then outputs to fill."""
        count = len(arrays) - self.described["outputs"]
        inputs, outputs = arrays[:count], arrays[count:]
        symbols = symbol_values([(axes, array.shape) for axes, array in zip(self.described["shapes"], inputs, strict=True)])
        records = wanted()
        key = (records is not None, *(symbols[name] for name in self.described["symbols"]))
        with self.lock:
            recorded = self.recorded.get(key) or self.record(key, symbols, inputs, outputs)
            self.recorded.move_to_end(key)
            for buffer, array in zip(recorded.inputs, inputs, strict=True):
                write(buffer, array)
            begin = time.perf_counter_ns()
            self.device.submit(recorded.commands)
            if records is not None and recorded.times is not None:
                records.add(self, self.device.name, self.calls, recorded.times.events(begin))
            for buffer, array in zip(recorded.outputs, outputs, strict=True):
                array[...] = np.frombuffer(buffer.data, array.dtype, array.size).reshape(array.shape)

    def record(self, key: tuple[int, ...], symbols: Mapping[str, int], inputs: Sequence[np.ndarray],
               outputs: Sequence[np.ndarray]) -> Recorded:
        """The submission for these sizes, which is kept for later runs. ``key``: whether its kernels are timed, and the sizes."""
        device, buffers = self.device, []
        recorded = Recorded(None, [device.buffer(array.nbytes, f"input {i}") for i, array in enumerate(inputs)],
                            [device.buffer(array.nbytes, f"output {i}") for i, array in enumerate(outputs)])
        given, results = iter(recorded.inputs), iter(recorded.outputs)
        values: list[Any] = []
        for one in self.described["arguments"]:
            if one["kind"] == "symbol":
                values.append(symbols[one["name"]])
                continue
            buffers.append(next(given) if one["kind"] == "input" else next(results) if one["kind"] == "output"
                           else self.weights[one["name"]] if one["kind"] == "weight"
                           else device.buffer(self.arena_bytes(symbols), "the model's intermediate values"))
            values.append(DevicePart(len(buffers) - 1, 0, tuple(one["sizes"]), dense(one["sizes"])))
        run = Run({name: len(buffers) + i for i, name in enumerate(self.constants)})
        buffers += self.constants.values()
        run.program(self.described["main"], values)
        recorded.kept = [*buffers]
        recorded.times = DeviceTimes(device, run.calls) if key[0] else None
        writer = CommandWriter(self, buffers, recorded.kept, recorded.times)
        recorded.commands = writer.commands(run.launches)
        weakref.finalize(recorded, release, device, recorded.commands, writer.pool).atexit = False
        self.recorded[key] = recorded
        while len(self.recorded) > KEPT:
            self.recorded.popitem(last=False)
        return recorded

    def arena_bytes(self, symbols: Mapping[str, int]) -> int:
        """The bytes of intermediate values for these sizes."""
        run, found = Run(), [0]
        given = [symbols[name] for name in self.described["symbols"]]
        run.program(self.described["sizes"], [given, found])
        return found[0]

    def kernel(self, launch: PlannedLaunch) -> DeviceKernel:
        """The kernel of a launch, made at its first use."""
        if launch.kernel not in self.kernels:
            code = base64.b64decode(self.described["kernels"][launch.kernel])
            self.kernels[launch.kernel] = self.device.kernel(launch.kernel, code, len(launch.parts) + 1)
        return self.kernels[launch.kernel]


def release(device: VulkanDevice, commands: Any, pool: Any) -> None:
    """Gives back what a recorded run holds besides its buffers."""
    device.vk.vkFreeCommandBuffers(device.device, device.pool, 1, [commands])
    if pool is not None:
        device.vk.vkDestroyDescriptorPool(device.device, pool, None)


class CommandWriter:
    """Writes launches into a command buffer. ``pool``: of their descriptor sets; ``times``: of main's calls, where they are wanted."""

    def __init__(self, model: VulkanModel, buffers: Sequence[DeviceBuffer], kept: list[Any], times: DeviceTimes | None) -> None:
        self.model, self.device, self.vk, self.buffers, self.kept = model, model.device, model.device.vk, buffers, kept
        self.pool: Any = None
        self.times = times

    def commands(self, steps: Sequence[PlannedLaunch | PlannedCopy]) -> Any:
        """A command buffer with the launches and copies in order, each after all memory that those before have written."""
        vk, device = self.vk, self.device
        launches = [one for one in steps if isinstance(one, PlannedLaunch)]
        numbers, starts = self.numbers(launches)
        sets = iter(self.sets(launches, numbers, starts))
        (commands,) = vk.vkAllocateCommandBuffers(device.device, vk.VkCommandBufferAllocateInfo(
            commandPool=device.pool, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1))
        vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo())
        written = vk.VK_ACCESS_SHADER_WRITE_BIT | vk.VK_ACCESS_TRANSFER_WRITE_BIT
        used = written | vk.VK_ACCESS_SHADER_READ_BIT | vk.VK_ACCESS_TRANSFER_READ_BIT
        seen = vk.VkMemoryBarrier(srcAccessMask=written, dstAccessMask=used)
        work = vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | vk.VK_PIPELINE_STAGE_TRANSFER_BIT
        if self.times is not None:
            self.times.reset(commands)
        for number, step in enumerate(steps):
            if self.times is not None and step.turn >= 0 and (number == 0 or steps[number - 1].turn != step.turn):
                self.times.begin(commands, step.turn)
            if isinstance(step, PlannedCopy):
                vk.vkCmdCopyBuffer(commands, self.buffers[step.source.buffer].handle, self.buffers[step.target.buffer].handle,
                                   len(step.regions), [vk.VkBufferCopy(srcOffset=a, dstOffset=b, size=n) for a, b, n in step.regions])
            else:
                self.launch(commands, step, next(sets))
            vk.vkCmdPipelineBarrier(commands, work, work, 0, 1, [seen], 0, None, 0, None)
            if self.times is not None and step.turn >= 0 and (number + 1 == len(steps) or steps[number + 1].turn != step.turn):
                self.times.end(commands, step.turn)
        read = vk.VkMemoryBarrier(srcAccessMask=written, dstAccessMask=vk.VK_ACCESS_HOST_READ_BIT)
        vk.vkCmdPipelineBarrier(commands, work, vk.VK_PIPELINE_STAGE_HOST_BIT, 0, 1, [read], 0, None, 0, None)
        vk.vkEndCommandBuffer(commands)
        return commands

    def launch(self, commands: Any, launch: PlannedLaunch, buffers: Any) -> None:
        """Writes one launch. ``buffers``: the descriptor set of its buffers."""
        vk, kernel = self.vk, self.model.kernel(launch)
        self.check_grid(launch)
        vk.vkCmdBindPipeline(commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline)
        vk.vkCmdBindDescriptorSets(commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout, 0, 1, [buffers], 0, None)
        vk.vkCmdDispatch(commands, *launch.grid)

    def numbers(self, launches: Sequence[PlannedLaunch]) -> tuple[DeviceBuffer, list[int]]:
        """One buffer with the numbers of all launches, and where those of each begin."""
        step, starts, end = self.device.limits.alignment, [], 0
        for launch in launches:
            starts.append(end)
            end += -(-max(1, len(launch.numbers)) * 4 // step) * step
        buffer = self.device.buffer(end, "the sizes of all launches")
        data = np.zeros(end // 4 if end else 4, np.int32)
        for launch, start in zip(launches, starts):
            data[start // 4:start // 4 + len(launch.numbers)] = launch.numbers
        write(buffer, data)
        return buffer, starts

    def sets(self, launches: Sequence[PlannedLaunch], numbers: DeviceBuffer, starts: Sequence[int]) -> list[Any]:
        """A descriptor set for each launch."""
        vk, device = self.vk, self.device
        if not launches:
            return []
        total = sum(len(launch.parts) + 1 for launch in launches)
        self.pool = pool = vk.vkCreateDescriptorPool(device.device, vk.VkDescriptorPoolCreateInfo(maxSets=len(launches), pPoolSizes=[
            vk.VkDescriptorPoolSize(type=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptorCount=total)]), None)
        self.kept.append(numbers)
        layouts = [self.model.kernel(launch).set_layout for launch in launches]
        sets = vk.vkAllocateDescriptorSets(device.device, vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, pSetLayouts=layouts))
        writes = []
        for launch, start, one in zip(launches, starts, sets):
            bound = [self.bound(launch, part) for part in launch.parts]
            bound.append(vk.VkDescriptorBufferInfo(buffer=numbers.handle, offset=start, range=max(1, len(launch.numbers)) * 4))
            writes += [vk.VkWriteDescriptorSet(dstSet=one, dstBinding=i, descriptorCount=1, pBufferInfo=[info],
                                               descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER) for i, info in enumerate(bound)]
        vk.vkUpdateDescriptorSets(device.device, len(writes), writes, 0, None)
        return list(sets)

    def bound(self, launch: PlannedLaunch, part: DevicePart) -> Any:
        """What a kernel's argument is bound to: a buffer from the part's first byte on."""
        buffer, step = self.buffers[part.buffer], self.device.limits.alignment
        if part.start % step:
            raise LegatoError(f"{launch.ops or launch.kernel}: a buffer begins at byte {part.start}, and on the device {self.device.name} "
                              f"that has to be a multiple of {step}")
        if part.start >= buffer.size:   # an empty part at the end
            return self.vk.VkDescriptorBufferInfo(buffer=buffer.handle, offset=0, range=self.vk.VK_WHOLE_SIZE)
        return self.vk.VkDescriptorBufferInfo(buffer=buffer.handle, offset=part.start, range=buffer.size - part.start)

    def check_grid(self, launch: PlannedLaunch) -> None:
        """LegatoError for more blocks than the device takes."""
        for axis, (count, limit) in enumerate(zip(launch.grid, self.device.limits.grid)):
            if count > limit:
                raise LegatoError(f"{launch.ops or launch.kernel}: a launch has {count} blocks along axis {axis}, and the device "
                                  f"{self.device.name} takes {limit}")


def write(buffer: DeviceBuffer, array: np.ndarray) -> None:
    """Copies an array's bytes to a buffer."""
    if array.nbytes:
        np.frombuffer(buffer.data, np.uint8, array.nbytes)[...] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
