"""When the calls of a run began and ended, by timestamps of a Vulkan device."""
from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from legato.core.errors import LegatoError
from legato.runtime.vulkan.device import VulkanDevice


class DeviceTimes:
    """Two timestamps for each call of a run. ``calls``: their numbers, in the order in which main makes them. LegatoError for a device
    that counts no time."""

    def __init__(self, device: VulkanDevice, calls: Sequence[int]) -> None:
        if not device.timestamp_bits:
            raise LegatoError(f"this model cannot be profiled: the device {device.name} has no timestamps")
        self.device, self.calls, self.written = device, calls, set[int]()
        vk = device.vk
        self.pool = vk.vkCreateQueryPool(device.device, vk.VkQueryPoolCreateInfo(
            queryType=vk.VK_QUERY_TYPE_TIMESTAMP, queryCount=max(1, 2 * len(calls))), None)
        weakref.finalize(self, vk.vkDestroyQueryPool, device.device, self.pool, None).atexit = False

    def reset(self, commands: Any) -> None:
        """Writes what comes before all timestamps of a run."""
        self.device.vk.vkCmdResetQueryPool(commands, self.pool, 0, max(1, 2 * len(self.calls)))

    def begin(self, commands: Any, turn: int) -> None:
        """Writes the timestamp before a call: when all before it has ended."""
        self.write(commands, 2 * turn)

    def end(self, commands: Any, turn: int) -> None:
        """Writes the timestamp behind a call: when it has ended."""
        self.write(commands, 2 * turn + 1)
        self.written.add(turn)

    def write(self, commands: Any, place: int) -> None:
        """Writes a timestamp."""
        vk = self.device.vk
        vk.vkCmdWriteTimestamp(commands, vk.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, self.pool, place)

    def events(self, start: int) -> list[tuple[int, int, int]]:
        """Number, begin and end of each call of the run that has ended, in nanoseconds; ``start``: the host's time at its beginning, which
        the first timestamp is put at."""
        if not self.written:
            return []
        vk, mask = self.device.vk, (1 << self.device.timestamp_bits) - 1
        stamps = {}
        for turn in sorted(self.written):
            data = vk.ffi.new("uint64_t[2]")
            vk.vkGetQueryPoolResults(self.device.device, self.pool, 2 * turn, 2, 16, data, 8,
                                     vk.VK_QUERY_RESULT_64_BIT | vk.VK_QUERY_RESULT_WAIT_BIT)
            stamps[turn] = data[0], data[1]
        first = stamps[min(stamps)][0]

        def nanoseconds(stamp: int) -> int:
            return start + round(((stamp - first) & mask) * self.device.tick)

        return [(self.calls[turn], nanoseconds(begin), nanoseconds(end)) for turn, (begin, end) in stamps.items()]
