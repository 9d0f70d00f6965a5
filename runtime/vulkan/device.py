"""A Vulkan device by the package ``vulkan`` (bindings of Vulkan's C interface): memory, kernels, and lists of launches."""
from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from typing import Any

from legato.core.errors import LegatoError
from legato.runtime.vulkan.addresses import CAPABILITY, by_address, instructions, words_of
from legato.runtime.vulkan.matrices import (
    BFLOAT16,
    BFLOAT16_FEATURES,
    MATRICES,
    SUBGROUP_SIZES,
    extensions_of,
    matrices_of,
    subgroup_of,
    subgroups_of,
)

CHOICE = "LEGATO_VULKAN_DEVICE"
KINDS = {2: "discrete GPU", 1: "integrated GPU", 3: "virtual GPU", 4: "CPU", 0: "other"}   # VkPhysicalDeviceType, the best first
ADDRESSES = "PhysicalStorageBufferAddresses"
# of VkBufferUsageFlagBits and VkMemoryAllocateFlagBits; the package has no names for them
SHADER_DEVICE_ADDRESS, ALLOCATE_DEVICE_ADDRESS = 0x20000, 2
FULL_SUBGROUPS = "full subgroups"
FLOAT16, INT8, MEMORY_MODEL, COOPERATIVE_MATRIX, BFLOAT16_TYPE, BFLOAT16_MATRIX = 9, 39, 5345, 6022, 5116, 5118
PACKED_DOT_PRODUCT, DOT_PRODUCT, DOT_PRODUCTS = 6018, 6019, "integer dot products (shaderIntegerDotProduct)"
# SPIR-V's number of a capability: its name, and the feature of the device that it needs
CAPABILITIES = {FLOAT16: "Float16", 10: "Float64", 11: "Int64", 22: "Int16", INT8: "Int8", 4433: "StorageBuffer16BitAccess",
                4448: "StorageBuffer8BitAccess", 5347: ADDRESSES, MEMORY_MODEL: "VulkanMemoryModel",
              COOPERATIVE_MATRIX: f"CooperativeMatrixKHR ({MATRICES})", BFLOAT16_TYPE: f"BFloat16TypeKHR ({BFLOAT16})",
              DOT_PRODUCT: DOT_PRODUCTS, PACKED_DOT_PRODUCT: DOT_PRODUCTS, BFLOAT16_MATRIX: f"BFloat16CooperativeMatrixKHR ({BFLOAT16})"}
WITHOUT = {MATRICES: "matrices=none", DOT_PRODUCTS: "dot-products=false"}     # what a kernel may need: the option that does without


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
    kernel is bound to; ``bindings``: the most buffers of a kernel; ``grid``: the most blocks by axis; ``threads``: in a block; ``shared``:
    the most bytes of its shared memory."""

    alignment: int
    buffer: int
    bound: int
    bindings: int
    grid: tuple[int, ...]
    threads: int
    shared: int


def limits_of(vk: Any, physical: Any) -> Limits:
    """The limits of a device."""
    memory = vk.VkPhysicalDeviceMaintenance3Properties()
    about = vk.VkPhysicalDeviceProperties2(pNext=memory)    # which the bindings keep only as long as this
    vk.vkGetPhysicalDeviceProperties2(physical, about)
    given = about.properties.limits
    return Limits(given.minStorageBufferOffsetAlignment, memory.maxMemoryAllocationSize, given.maxStorageBufferRange,
                  min(given.maxPerStageDescriptorStorageBuffers, given.maxPerStageResources),
                  tuple(given.maxComputeWorkGroupCount), given.maxComputeWorkGroupInvocations, given.maxComputeSharedMemorySize)


@dataclass(frozen=True)
class DeviceKernel:
    """A kernel that is ready to be launched. ``set_layout``: of its buffers; ``by_address``: the places of those that it is not bound to,
    but reaches by their addresses, which follow its numbers."""

    pipeline: Any
    layout: Any
    set_layout: Any
    by_address: tuple[int, ...]


class VulkanDevice:
    """A device with one queue. Objects live as long as the process: it has one device (``the_device``)."""

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
        self.pool = vk.vkCreateCommandPool(self.device, vk.VkCommandPoolCreateInfo(
            queueFamilyIndex=self.family, flags=vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT), None)
        self.fence = vk.vkCreateFence(self.device, vk.VkFenceCreateInfo(), None)

    def buffer(self, size: int, what: str, in_parts: bool = False) -> DeviceBuffer:
        """Memory of at least ``size`` bytes, which kernels get as a whole, or ``in_parts``. LegatoError, with the numbers, where the device
        has too little."""
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
        try:
            memory = vk.vkAllocateMemory(self.device, vk.VkMemoryAllocateInfo(
                pNext=flags, allocationSize=needs.size, memoryTypeIndex=self.memory_type(needs.memoryTypeBits)), None)
        except Exception as error:
            vk.vkDestroyBuffer(self.device, handle, None)
            raise LegatoError(f"{what} takes {size} bytes, which the device {self.name} does not have left "
                              f"({type(error).__name__})") from error
        vk.vkBindBufferMemory(self.device, handle, memory, 0)
        made = DeviceBuffer(handle, size, memoryview(vk.vkMapMemory(self.device, memory, 0, size, 0)),
                            self.address(handle) if addressed else 0)
        weakref.finalize(made, destroy, vk, self.device, handle, memory).atexit = False
        return made

    def address(self, buffer: Any) -> int:
        """Where a buffer lies for kernels. (By C's function: the package's own drops the result.)"""
        return self.vk.lib.vkGetBufferDeviceAddress(self.device, self.vk.ffi.addressof(self.vk.VkBufferDeviceAddressInfo(buffer=buffer)))

    def memory_type(self, allowed: int) -> int:
        """The kind of memory for buffers: the host sees it, and it is the device's own where there is such."""
        vk = self.vk
        needed = vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
        kinds = [(i, self.memory.memoryTypes[i].propertyFlags) for i in range(self.memory.memoryTypeCount) if allowed >> i & 1]
        fit = [(bool(flags & vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT), i) for i, flags in kinds if flags & needed == needed]
        return max(fit, key=lambda one: (one[0], -one[1]))[1]

    def kernel(self, name: str, code: bytes, buffers: int, addressed: Sequence[int], numbers: int) -> DeviceKernel:
        """A kernel of SPIR-V with so many buffers, of which it reaches some by their addresses. ``numbers``: what precedes them in the last
        buffer. LegatoError, naming the kernel, for a capability, matrices or subgroups that the device lacks."""
        vk = self.vk
        if addressed:
            code = by_address(code, addressed, numbers)
        lacking = [CAPABILITIES[one] for one in capabilities(code) if one in CAPABILITIES and CAPABILITIES[one] not in self.able]
        if lacking:
            without = next((option for word, option in WITHOUT.items() if any(word in one for one in lacking)), None)
            raise LegatoError(f"the kernel {name} needs {', '.join(dict.fromkeys(lacking))}, which the device {self.name} lacks" + (
                f"; compile for the target 'vulkan{{{without}}}'" if without else ""))
        subgroup = subgroup_of(name, code, self.name, self.matrices, self.subgroups)
        module = vk.vkCreateShaderModule(self.device, vk.VkShaderModuleCreateInfo(codeSize=len(code), pCode=code), None)
        bindings = [vk.VkDescriptorSetLayoutBinding(binding=i, descriptorType=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptorCount=1,
                                                    stageFlags=vk.VK_SHADER_STAGE_COMPUTE_BIT)
                    for i in range(buffers) if i not in addressed]
        set_layout = vk.vkCreateDescriptorSetLayout(self.device, vk.VkDescriptorSetLayoutCreateInfo(pBindings=bindings), None)
        layout = vk.vkCreatePipelineLayout(self.device, vk.VkPipelineLayoutCreateInfo(pSetLayouts=[set_layout]), None)
        size, full = None, 0
        if subgroup and self.subgroups.most:    # of which all threads have work
            size = vk.VkPipelineShaderStageRequiredSubgroupSizeCreateInfo(requiredSubgroupSize=subgroup)
            full = vk.VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT_EXT if FULL_SUBGROUPS in self.able else 0
        stage = vk.VkPipelineShaderStageCreateInfo(pNext=size, flags=full, stage=vk.VK_SHADER_STAGE_COMPUTE_BIT, module=module, pName=name)
        (pipeline,) = vk.vkCreateComputePipelines(self.device, None, 1, [vk.VkComputePipelineCreateInfo(stage=stage, layout=layout)], None)
        vk.vkDestroyShaderModule(self.device, module, None)
        return DeviceKernel(pipeline, layout, set_layout, tuple(addressed))

    def submit(self, commands: Any) -> None:
        """Runs recorded commands and waits for their end."""
        vk = self.vk
        vk.vkQueueSubmit(self.queue, 1, [vk.VkSubmitInfo(pCommandBuffers=[commands])], self.fence)
        vk.vkWaitForFences(self.device, 1, [self.fence], True, (1 << 64) - 1)
        vk.vkResetFences(self.device, 1, [self.fence])


def destroy(vk: Any, device: Any, handle: Any, memory: Any) -> None:
    """Gives a buffer's memory back."""
    vk.vkDestroyBuffer(device, handle, None)
    vk.vkFreeMemory(device, memory, None)


@cache
def the_device() -> VulkanDevice:
    """The process's device: the one that LEGATO_VULKAN_DEVICE names (a number, or a part of its name), or the best."""
    return VulkanDevice()


def has_dot_products() -> bool:
    """Whether this machine's device has dot products of bytes; without a driver, or a device, it has none."""
    try:
        return DOT_PRODUCTS in the_device().able
    except LegatoError:
        return False


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


def features(vk: Any, physical: Any, version: int, extensions: Collection[str]) -> tuple[set[str], Any]:
    """The capabilities that the device has, of those that kernels may need, and the structures that switch them on. ``extensions``: those
    that it has, of ``matrices.EXTENSIONS``."""
    small = vk.VkPhysicalDeviceShaderFloat16Int8Features()
    bytes_ = vk.VkPhysicalDevice8BitStorageFeatures(pNext=small)
    last = halves = vk.VkPhysicalDevice16BitStorageFeatures(pNext=bytes_)
    able: dict[str, Callable[[], Any]] = {
        "Float16": lambda: small.shaderFloat16, "Int8": lambda: small.shaderInt8,
        "StorageBuffer16BitAccess": lambda: halves.storageBuffer16BitAccess,
        "StorageBuffer8BitAccess": lambda: bytes_.storageBuffer8BitAccess}
    if version >= vk.VK_MAKE_VERSION(1, 2, 0):
        addresses = vk.VkPhysicalDeviceBufferDeviceAddressFeatures(pNext=last)
        last = model = vk.VkPhysicalDeviceVulkanMemoryModelFeatures(pNext=addresses)
        able |= {ADDRESSES: lambda: addresses.bufferDeviceAddress, CAPABILITIES[MEMORY_MODEL]: lambda: model.vulkanMemoryModel}
    if version >= vk.VK_MAKE_VERSION(1, 3, 0):
        last = dots = vk.VkPhysicalDeviceShaderIntegerDotProductFeatures(pNext=last)
        able |= {DOT_PRODUCTS: lambda: dots.shaderIntegerDotProduct}
    if SUBGROUP_SIZES in extensions:
        last = sizes = vk.VkPhysicalDeviceSubgroupSizeControlFeatures(pNext=last)
        able |= {SUBGROUP_SIZES: lambda: sizes.subgroupSizeControl, FULL_SUBGROUPS: lambda: sizes.computeFullSubgroups}
    if MATRICES in extensions:
        last = matrices = vk.VkPhysicalDeviceCooperativeMatrixFeaturesKHR(pNext=last)
        able |= {CAPABILITIES[COOPERATIVE_MATRIX]: lambda: matrices.cooperativeMatrix}
    if BFLOAT16 in extensions:      # a structure of three flags, as this one: the type, its dot products, its matrices
        last = brain = vk.VkPhysicalDeviceVulkanMemoryModelFeatures(sType=BFLOAT16_FEATURES, pNext=last)
        able |= {CAPABILITIES[BFLOAT16_TYPE]: lambda: brain.vulkanMemoryModel,
                 CAPABILITIES[BFLOAT16_MATRIX]: lambda: brain.vulkanMemoryModelAvailabilityVisibilityChains}
    have = vk.VkPhysicalDeviceFeatures2(pNext=last)
    vk.vkGetPhysicalDeviceFeatures2(physical, have)
    plain = have.features
    able |= {"Float64": lambda: plain.shaderFloat64, "Int64": lambda: plain.shaderInt64, "Int16": lambda: plain.shaderInt16}
    return {name for name, there in able.items() if there()}, have


def usable(matrices: Sequence[str], able: Collection[str]) -> tuple[str, ...]:
    """Those of some matrices that kernels can have on a device of these capabilities."""
    types = (("bf16", (FLOAT16, BFLOAT16_TYPE, BFLOAT16_MATRIX)), ("f16", (FLOAT16,)), ("f32", ()), ("s8", (INT8,)), ("u8", (INT8,)))
    names = {kind: {CAPABILITIES[number] for number in (COOPERATIVE_MATRIX, MEMORY_MODEL, *more)} for kind, more in types}
    return tuple(one for one in matrices if names[one.split("_")[1]] <= set(able))


def capabilities(code: bytes) -> list[int]:
    """The capabilities that a SPIR-V module declares, by number."""
    return [one[1] for one in takewhile(lambda one: one[0] == CAPABILITY, instructions(words_of(code)))]
