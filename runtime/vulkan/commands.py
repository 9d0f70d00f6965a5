"""Launches, copies and writes of a model as commands of a Vulkan device, to be submitted at once."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from legato.core.errors import LegatoError
from legato.runtime.vulkan.device import DeviceBuffer, DeviceKernel, DeviceObjects, VulkanDevice
from legato.runtime.vulkan.features import ADDRESSES
from legato.runtime.vulkan.planned import DevicePart, PlannedCopy, PlannedLaunch, PlannedStep, PlannedWrite
from legato.runtime.vulkan.times import DeviceTimes


class Kernels(Protocol):
    """What has the kernels of a model."""

    def kernel(self, launch: PlannedLaunch, by_address: tuple[int, ...]) -> DeviceKernel:
        """That of a launch, which reaches some of its buffers by their addresses."""
        ...

    def items(self, launch: PlannedLaunch) -> dict[int, int]:
        """The bytes of an element of each of its buffers."""
        ...


@dataclass(eq=False)
class Submission:
    """Recorded commands. ``done``: a fence, which the device signals when it has run them. ``times``: of main's calls in them, where they
    are wanted. ``kept``: what the commands refer to."""

    commands: Any
    done: Any
    times: DeviceTimes | None
    kept: list[Any]


def record(device: VulkanDevice, kernels: Kernels, buffers: Sequence[DeviceBuffer], steps: Sequence[PlannedStep],
           times: DeviceTimes | None) -> Submission:
    """The commands for these steps on buffers, which lie at their numbers. LegatoError, naming the op, for what the device does not
    take."""
    made = DeviceObjects(device.device)
    writer = CommandWriter(device, kernels, buffers, times, made)
    commands = writer.commands(steps)
    done = made.kept(device.vk.vkCreateFence(device.device, device.vk.VkFenceCreateInfo(), None), device.vk.vkDestroyFence)
    launched = [writer.kernel(step) for step in steps if isinstance(step, PlannedLaunch)]
    return Submission(commands, done, times, [*buffers, writer.payload, made, *launched])


class CommandWriter:
    """Writes steps into a command buffer. ``made``: keeps the pools that it makes; ``payload``: a buffer with what the host gives."""

    def __init__(self, device: VulkanDevice, kernels: Kernels, buffers: Sequence[DeviceBuffer], times: DeviceTimes | None,
                 made: DeviceObjects) -> None:
        self.device, self.vk, self.kernels, self.buffers, self.times, self.made = device, device.vk, kernels, buffers, times, made
        self.payload: DeviceBuffer | None = None

    def commands(self, steps: Sequence[PlannedStep]) -> Any:
        """A command buffer with the steps in order, each after all memory that those before have written."""
        vk, device = self.vk, self.device
        self.payload, starts = self.given(steps)
        sets = iter(self.sets([(one, start) for one, start in zip(steps, starts) if isinstance(one, PlannedLaunch)], self.payload))
        pool = self.made.kept(vk.vkCreateCommandPool(device.device, vk.VkCommandPoolCreateInfo(queueFamilyIndex=device.family), None),
                              vk.vkDestroyCommandPool)
        (commands,) = vk.vkAllocateCommandBuffers(device.device, vk.VkCommandBufferAllocateInfo(
            commandPool=pool, level=vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY, commandBufferCount=1))
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
            elif isinstance(step, PlannedWrite):
                vk.vkCmdCopyBuffer(commands, self.payload.handle, self.buffers[step.buffer].handle, 1,
                                   [vk.VkBufferCopy(srcOffset=starts[number], dstOffset=step.start, size=len(step.data))])
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
        vk, kernel = self.vk, self.kernel(launch)
        self.check_grid(launch)
        vk.vkCmdBindPipeline(commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, kernel.pipeline)
        vk.vkCmdBindDescriptorSets(commands, vk.VK_PIPELINE_BIND_POINT_COMPUTE, kernel.layout, 0, 1, [buffers], 0, None)
        vk.vkCmdDispatch(commands, *launch.grid)

    def kernel(self, launch: PlannedLaunch) -> DeviceKernel:
        """The kernel of a launch. It reaches by their addresses the buffers that are larger, or more, than what the device binds.
        LegatoError where the device has no addresses."""
        device, most = self.device, self.device.limits.bound
        large = [i for i, part in enumerate(launch.parts) if self.buffers[part.buffer].size - part.start > most]
        items = self.kernels.items(launch) if large else {}
        sizes = {i: launch.parts[i].reach(items[i]) for i in large}
        chosen = [i for i in large if sizes[i] > most]
        if chosen and ADDRESSES not in device.able:
            raise LegatoError(f"{launch.ops or launch.kernel}: a buffer takes {sizes[chosen[0]]} bytes, and a kernel on the device "
                              f"{device.name} can be bound to {most}")
        bound = [i for i in range(len(launch.parts)) if i not in chosen]
        chosen += bound[max(0, device.limits.bindings - 1):]        # the last binding is that of the numbers
        if chosen and ADDRESSES not in device.able:
            raise LegatoError(f"{launch.ops or launch.kernel}: a kernel has {len(launch.parts) + 1} buffers, and one on the device "
                              f"{device.name} can have {device.limits.bindings}")
        return self.kernels.kernel(launch, tuple(sorted(chosen)))

    def given(self, steps: Sequence[PlannedStep]) -> tuple[DeviceBuffer, list[int]]:
        """One buffer with the numbers of all launches and the data of all writes, and where those of each step begin."""
        align, starts, data = self.device.limits.alignment, [], bytearray()
        for step in steps:
            starts.append(len(data))
            data += self.payload_of(step)
            data += bytes(-len(data) % align)
        buffer = self.device.buffer(len(data), "the sizes of all launches", in_parts=True)
        write(buffer, np.frombuffer(bytes(data), np.uint8))
        return buffer, starts

    def payload_of(self, step: PlannedStep) -> bytes:
        """What the host gives for a step: data to write; of a launch its numbers, and behind them the addresses of buffers."""
        if isinstance(step, PlannedWrite):
            return step.data
        if isinstance(step, PlannedCopy):
            return b""
        parts = [step.parts[binding] for binding in self.kernel(step).by_address]
        addresses = np.array([self.buffers[part.buffer].address + part.start for part in parts], "<u8")
        return np.array(step.numbers, "<i4").tobytes() + addresses.tobytes() or bytes(4)

    def sets(self, launches: Sequence[tuple[PlannedLaunch, int]], numbers: DeviceBuffer) -> list[Any]:
        """A descriptor set for each launch, whose numbers begin at a byte of a buffer."""
        vk, device = self.vk, self.device
        if not launches:
            return []
        total = sum(len(launch.parts) + 1 for launch, _ in launches)
        pool = self.made.kept(vk.vkCreateDescriptorPool(device.device, vk.VkDescriptorPoolCreateInfo(maxSets=len(launches), pPoolSizes=[
            vk.VkDescriptorPoolSize(type=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptorCount=total)]), None), vk.vkDestroyDescriptorPool)
        layouts = [self.kernel(launch).set_layout for launch, _ in launches]
        sets = vk.vkAllocateDescriptorSets(device.device, vk.VkDescriptorSetAllocateInfo(descriptorPool=pool, pSetLayouts=layouts))
        writes = []
        for (launch, start), one in zip(launches, sets):
            by_address = self.kernel(launch).by_address
            bound = {i: self.bound(launch, part) for i, part in enumerate(launch.parts) if i not in by_address}
            bound[len(launch.parts)] = vk.VkDescriptorBufferInfo(buffer=numbers.handle, offset=start, range=len(self.payload_of(launch)))
            writes += [vk.VkWriteDescriptorSet(dstSet=one, dstBinding=i, descriptorCount=1, pBufferInfo=[info],
                                               descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER) for i, info in bound.items()]
        vk.vkUpdateDescriptorSets(device.device, len(writes), writes, 0, None)
        return list(sets)

    def bound(self, launch: PlannedLaunch, part: DevicePart) -> Any:
        """What a kernel's argument is bound to: a buffer from the part's first byte on, as far as the device binds it."""
        buffer, step = self.buffers[part.buffer], self.device.limits.alignment
        if part.start % step:
            raise LegatoError(f"{launch.ops or launch.kernel}: a buffer begins at byte {part.start}, and on the device {self.device.name} "
                              f"that has to be a multiple of {step}")
        first = part.start if part.start < buffer.size else 0       # an empty part at the end
        return self.vk.VkDescriptorBufferInfo(buffer=buffer.handle, offset=first, range=min(buffer.size - first, self.device.limits.bound))

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
