"""A Vulkan device by the package ``vulkan`` (bindings of Vulkan's C interface): memory, kernels, and lists of launches."""
from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from legato.core.errors import LegatoError
from legato.runtime.vulkan.addresses import by_address
from legato.runtime.vulkan.blocks import BlockLimits, check_block
from legato.runtime.vulkan.features import (
    ADDRESSES,
    CAPABILITIES,
    DOT_PRODUCTS,
    FULL_SUBGROUPS,
    LONG_INTEGERS,
    MATRICES,
    SUBGROUP_SIZES,
    WITHOUT,
    capabilities,
    features,
    usable,
)
from legato.runtime.vulkan.matrices import extensions_of, matrices_of, subgroup_of, subgroups_of

CHOICE = "LEGATO_VULKAN_DEVICE"
ASKING = threading.Lock()
KINDS = {2: "discrete GPU", 1: "integrated GPU", 3: "virtual GPU", 4: "CPU", 0: "other"}   # VkPhysicalDeviceType, the best first
# of VkBufferUsageFlagBits and VkMemoryAllocateFlagBits; the package has no names for them
SHADER_DEVICE_ADDRESS, ALLOCATE_DEVICE_ADDRESS = 0x20000, 2


def library() -> Any:
    """The package, which loads Vulkan's loader. LegatoError that says what to install."""
    try:
        import vulkan
    except ImportError as error:
        raise LegatoError("models for Vulkan run by the package vulkan, which is not installed: pip install 'legato[vulkan]'") from error
    except OSError as error:
        raise LegatoError("there is no Vulkan loader (libvulkan): install it with a driver for the GPU; Debian, Ubuntu: "
                          "apt install libvulkan1 mesa-vulkan-drivers, which run on the CPU, too") from error
    return vulkan


@dataclass(eq=False)
class DeviceBuffer:
    """Memory on the device, given back when nothing refers to it any more. ``data``: the same memory for the host; ``address``: for
    kernels, 0 on a device without addresses."""

    handle: Any
    size: int
    data: memoryview
    address: int


@dataclass(frozen=True)
class Limits:
    """``alignment``: bytes, of the start of a part of a buffer; ``buffer``: the most bytes of one; ``bound``: the most bytes of one that a
    kernel is bound to; ``bindings``: the most buffers of a kernel; ``grid``: the most blocks by axis; ``block``: of a block's threads and
    shared memory."""

    alignment: int
    buffer: int
    bound: int
    bindings: int
    grid: tuple[int, ...]
    block: BlockLimits


def limits_of(vk: Any, physical: Any) -> Limits:
    """The limits of a device."""
    memory = vk.VkPhysicalDeviceMaintenance3Properties()
    about = vk.VkPhysicalDeviceProperties2(pNext=memory)    # which the bindings keep only as long as this
    vk.vkGetPhysicalDeviceProperties2(physical, about)
    given = about.properties.limits
    return Limits(given.minStorageBufferOffsetAlignment, memory.maxMemoryAllocationSize, given.maxStorageBufferRange,
                  min(given.maxPerStageDescriptorStorageBuffers, given.maxPerStageResources),
                  tuple(given.maxComputeWorkGroupCount),
                  BlockLimits(given.maxComputeWorkGroupInvocations, tuple(given.maxComputeWorkGroupSize), given.maxComputeSharedMemorySize))


class DeviceObjects:
    """Vulkan objects of a device, ``device``, that are destroyed when nothing refers to this value any more.

    What two threads may not use at once, as a pool, is in a value of its user's: models are recorded, and dropped, on any thread.
    """

    def __init__(self, device: Any) -> None:
        self.device = device

    def kept(self, handle: Any, destroy: Callable[..., None]) -> Any:
        """An object that was just made. ``destroy``: Vulkan's function that destroys it."""
        weakref.finalize(self, destroy, self.device, handle, None).atexit = False
        return handle


@dataclass(frozen=True)
class DeviceKernel:
    """A kernel that is ready to be launched. ``set_layout``: of its buffers; ``by_address``: the places of those that it is not bound to,
    but reaches by their addresses, which follow its numbers; ``made``: keeps its objects."""

    pipeline: Any
    layout: Any
    set_layout: Any
    by_address: tuple[int, ...]
    made: DeviceObjects


class DeviceUser(Protocol):
    """What has memory of a device."""

    def forget(self) -> None:
        """Gives up what is kept for later and not in use, as far as no other thread uses it. Does not wait."""
        ...


class VulkanDevice:
    """A device with one queue. It lives as long as the process, which has one (``the_device``)."""

    def __init__(self) -> None:
        self.vk = vk = library()
        application = vk.VkApplicationInfo(pApplicationName="legato", applicationVersion=1, pEngineName="legato", engineVersion=1,
                                           apiVersion=vk.VK_MAKE_VERSION(1, 3, 0))
        try:
            self.instance = vk.vkCreateInstance(vk.VkInstanceCreateInfo(pApplicationInfo=application), None)
            found = list(vk.vkEnumeratePhysicalDevices(self.instance))
        except Exception as error:
            raise LegatoError(f"Vulkan has no driver that works here ({type(error).__name__}): install the GPU's, or one that runs on the "
                              "CPU (Debian, Ubuntu: apt install mesa-vulkan-drivers)") from error
        self.physical = choose(vk, found)
        about = vk.vkGetPhysicalDeviceProperties(self.physical)
        self.name, self.kind, self.limits = about.deviceName, KINDS.get(about.deviceType, "other"), limits_of(vk, self.physical)
        self.memory = vk.vkGetPhysicalDeviceMemoryProperties(self.physical)
        families = vk.vkGetPhysicalDeviceQueueFamilyProperties(self.physical)   # C's, which keeps its elements alive
        self.family = next(i for i, family in enumerate(families) if family.queueFlags & vk.VK_QUEUE_COMPUTE_BIT)
        self.timestamp_bits, self.tick = families[self.family].timestampValidBits, about.limits.timestampPeriod    # a tick in nanoseconds
        extensions = extensions_of(vk, self.physical)
        self.able, enabled = features(vk, self.physical, about.apiVersion, extensions)
        self.subgroups = subgroups_of(vk, self.physical, SUBGROUP_SIZES in self.able)
        self.matrices = usable(matrices_of(vk, self.instance, self.physical), self.able) if (
            MATRICES in extensions and about.apiVersion >= vk.VK_MAKE_VERSION(1, 3, 0)) else ()
        queue = vk.VkDeviceQueueCreateInfo(queueFamilyIndex=self.family, queueCount=1, pQueuePriorities=[1.0])
        self.device = vk.vkCreateDevice(self.physical, vk.VkDeviceCreateInfo(
            pNext=enabled, pQueueCreateInfos=[queue], ppEnabledExtensionNames=extensions), None)
        self.queue = vk.vkGetDeviceQueue(self.device, self.family, 0)
        self.lock = threading.Lock()    # of ``users``, and of the queue, which Vulkan lets one thread at a time use
        self.users = weakref.WeakSet[DeviceUser]()

    def buffer(self, size: int, what: str, in_parts: bool = False) -> DeviceBuffer:
        """Memory of at least ``size`` bytes, which kernels get as a whole, or ``in_parts``. Where the device has none left, it is asked
        again once models have given up what they keep for later. LegatoError, with the numbers, where it has too little."""
        vk, size = self.vk, max(size, 16)
        usage = vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT | vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
        most = self.limits.buffer if in_parts or ADDRESSES in self.able else min(self.limits.buffer, self.limits.bound)
        if size > most:
            raise LegatoError(f"{what} takes {size} bytes, and one buffer on the device {self.name} can have {most}")
        addressed = ADDRESSES in self.able
        if addressed:
            usage |= SHADER_DEVICE_ADDRESS
        wanted = vk.VkBufferCreateInfo(size=size, usage=usage, sharingMode=vk.VK_SHARING_MODE_EXCLUSIVE)
        handle = vk.vkCreateBuffer(self.device, wanted, None)
        needs = vk.vkGetBufferMemoryRequirements(self.device, handle)
        flags = vk.VkMemoryAllocateFlagsInfo(flags=ALLOCATE_DEVICE_ADDRESS) if addressed else None
        kinds = self.memory_types(needs.memoryTypeBits)
        requests = [vk.VkMemoryAllocateInfo(pNext=flags, allocationSize=needs.size, memoryTypeIndex=kind) for kind in kinds]
        try:
            memory = self.allocated(requests)
        except vk.VkError as error:
            vk.vkDestroyBuffer(self.device, handle, None)
            heaps = {self.memory.memoryTypes[kind].heapIndex for kind in kinds}
            there = " and ".join(str(self.memory.memoryHeaps[one].size) for one in sorted(heaps))
            raise LegatoError(f"{what} takes {size} bytes, which the device {self.name} does not have left of its {there} "
                              f"({type(error).__name__})") from error
        vk.vkBindBufferMemory(self.device, handle, memory, 0)
        made = DeviceBuffer(handle, size, memoryview(vk.vkMapMemory(self.device, memory, 0, size, 0)),
                            self.address(handle) if addressed else 0)
        weakref.finalize(made, destroy, vk, self.device, handle, memory).atexit = False
        return made

    def allocated(self, requests: Sequence[Any]) -> Any:
        """Memory by the first of several requests that the device grants; what is kept for later has to make room for the first of all."""
        vk = self.vk
        try:
            return vk.vkAllocateMemory(self.device, requests[0], None)
        except (vk.VkErrorOutOfDeviceMemory, vk.VkErrorOutOfHostMemory):
            with self.lock:
                users = list(self.users)
            for user in users:
                user.forget()
        for request in requests[:-1]:
            try:
                return vk.vkAllocateMemory(self.device, request, None)
            except (vk.VkErrorOutOfDeviceMemory, vk.VkErrorOutOfHostMemory):
                continue
        return vk.vkAllocateMemory(self.device, requests[-1], None)

    def add_user(self, user: DeviceUser) -> None:
        """One more model that may make room; it is known as long as it lives."""
        with self.lock:
            self.users.add(user)

    def address(self, buffer: Any) -> int:
        """Where a buffer lies for kernels. (By C's function: the package's own drops the result.)"""
        asked = self.vk.VkBufferDeviceAddressInfo(buffer=buffer)    # addressof does not keep it alive
        return self.vk.lib.vkGetBufferDeviceAddress(self.device, self.vk.ffi.addressof(asked))

    def memory_types(self, allowed: int) -> list[int]:
        """The kinds of memory for buffers, the best first: the host sees them. The device's own come first, of which GPUs may show the host
        a small part (256 MB), and then the host's."""
        vk = self.vk
        needed = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        kinds = [(i, self.memory.memoryTypes[i].propertyFlags) for i in range(self.memory.memoryTypeCount) if allowed >> i & 1]
        fit = [(bool(flags & vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT), i) for i, flags in kinds if flags & needed == needed]
        return [kind for _, kind in sorted(fit, key=lambda one: (not one[0], one[1]))]

    def kernel(self, name: str, code: bytes, buffers: int, addressed: Sequence[int], numbers: int, ops: str = "") -> DeviceKernel:
        """A kernel of SPIR-V with so many buffers, of which it reaches some by their addresses. ``numbers``: what precedes them in the last
        buffer; ``ops``: the graph ops that it computes. LegatoError, naming the kernel, for a capability, matrices, subgroups, threads or
        shared memory that the device lacks."""
        vk = self.vk
        if addressed:
            code = by_address(code, addressed, numbers)
        lacking = [CAPABILITIES[one] for one in capabilities(code) if one in CAPABILITIES and CAPABILITIES[one] not in self.able]
        if lacking:
            without = next((what for word, what in WITHOUT.items() if any(word in one for one in lacking)), None)
            raise LegatoError(f"{f'{ops}: ' if ops else ''}the kernel {name} needs {', '.join(dict.fromkeys(lacking))}, which the device "
                              f"{self.name} lacks{f'; {without}' if without else ''}")
        check_block(name, code, self.name, self.limits.block)
        subgroup = subgroup_of(name, code, self.name, self.matrices, self.subgroups)
        made, temporary = DeviceObjects(self.device), DeviceObjects(self.device)
        module = temporary.kept(vk.vkCreateShaderModule(self.device, vk.VkShaderModuleCreateInfo(codeSize=len(code), pCode=code), None),
                                vk.vkDestroyShaderModule)
        bindings = [vk.VkDescriptorSetLayoutBinding(binding=i, descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptorCount=1,
                                                    stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT)
                    for i in range(buffers) if i not in addressed]
        set_layout = made.kept(vk.vkCreateDescriptorSetLayout(self.device, vk.VkDescriptorSetLayoutCreateInfo(pBindings=bindings), None),
                               vk.vkDestroyDescriptorSetLayout)
        layout = made.kept(vk.vkCreatePipelineLayout(self.device, vk.VkPipelineLayoutCreateInfo(pSetLayouts=[set_layout]), None),
                           vk.vkDestroyPipelineLayout)
        size, full = None, 0
        if subgroup and self.subgroups.most:    # of which all threads have work
            size = vk.VkPipelineShaderStageRequiredSubgroupSizeCreateInfo(requiredSubgroupSize=subgroup)
            full = vk.VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT if FULL_SUBGROUPS in self.able else 0
        stage = vk.VkPipelineShaderStageCreateInfo(pNext=size, flags=full, stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=module, pName=name)
        (pipeline,) = vk.vkCreateComputePipelines(self.device, None, 1, [vk.VkComputePipelineCreateInfo(stage=stage, layout=layout)], None)
        return DeviceKernel(made.kept(pipeline, vk.vkDestroyPipeline), layout, set_layout, tuple(addressed), made)

    def submit(self, commands: Any, done: Any) -> None:
        """Runs recorded commands and waits for their end. ``done``: their fence. LegatoError where the device is lost, or its memory too
        little."""
        vk = self.vk
        try:
            with self.lock:
                vk.vkQueueSubmit(self.queue, 1, [vk.VkSubmitInfo(pCommandBuffers=[commands])], done)
            vk.vkWaitForFences(self.device, 1, [done], True, (1 << 64) - 1)
            vk.vkResetFences(self.device, 1, [done])
        except vk.VkError as error:
            raise LegatoError(f"running the model's kernels on the device {self.name} failed ({type(error).__name__})") from error


def destroy(vk: Any, device: Any, handle: Any, memory: Any) -> None:
    """Gives a buffer's memory back."""
    vk.vkDestroyBuffer(device, handle, None)
    vk.vkFreeMemory(device, memory, None)


def the_device() -> VulkanDevice:
    """The process's device: the one that LEGATO_VULKAN_DEVICE names (a number, or a part of its name), or the best."""
    with ASKING:    # ``cache`` has each of several threads make its own
        return made_device()


@cache
def made_device() -> VulkanDevice:
    """The device, for ``the_device``."""
    return VulkanDevice()


def has_dot_products() -> bool:
    """Whether this machine's device has dot products of bytes; without a driver, or a device, it has none."""
    try:
        return DOT_PRODUCTS in the_device().able
    except LegatoError:
        return False


def has_long_integers() -> bool:
    """Whether this machine's device has integers of 64 bits; without a driver, or a device, it is taken to."""
    try:
        return LONG_INTEGERS in the_device().able
    except LegatoError:
        return True


def choose(vk: Any, found: Sequence[Any]) -> Any:
    """One of the devices. LegatoError if there is none, or none of the given name."""
    about = [vk.vkGetPhysicalDeviceProperties(one) for one in found]
    names = [f"{i}: {one.deviceName} ({KINDS.get(one.deviceType, 'other')})" for i, one in enumerate(about)]
    if not found:
        raise LegatoError("Vulkan's drivers find no device: install the GPU's driver, or one that runs on the CPU (Debian, Ubuntu: apt "
                          "install mesa-vulkan-drivers)")
    asked = os.environ.get(CHOICE, "")
    if asked:
        fit = [i for i, one in enumerate(about) if asked == str(i) or asked.lower() in one.deviceName.lower()]
        if not fit:
            raise LegatoError(f"{CHOICE}={asked}: there is no such device; there are {'; '.join(names)}")
        return found[fit[0]]
    order = list(KINDS)
    return found[min(range(len(found)), key=lambda i: (order.index(about[i].deviceType) if about[i].deviceType in order else 9, i))]
