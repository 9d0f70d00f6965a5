"""What a Vulkan device is able to do, of what kernels may need."""
from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import takewhile
from typing import Any

from legato.runtime.vulkan.addresses import CAPABILITY, instructions, words_of

MATRICES, BFLOAT16, SUBGROUP_SIZES = "VK_KHR_cooperative_matrix", "VK_KHR_shader_bfloat16", "VK_EXT_subgroup_size_control"
BFLOAT16_FEATURES = 1000141000      # VkStructureType; the package does not have the structure
ADDRESSES = "PhysicalStorageBufferAddresses"
FULL_SUBGROUPS, LONG_INTEGERS = "full subgroups", "Int64"
FLOAT16, INT8, MEMORY_MODEL, COOPERATIVE_MATRIX, BFLOAT16_TYPE, BFLOAT16_MATRIX = 9, 39, 5345, 6022, 5116, 5118
PACKED_DOT_PRODUCT, DOT_PRODUCT, DOT_PRODUCTS = 6018, 6019, "integer dot products (shaderIntegerDotProduct)"
# SPIR-V's number of a capability: its name, and the feature of the device that it needs
CAPABILITIES = {FLOAT16: "Float16", 10: "Float64", 11: LONG_INTEGERS, 22: "Int16", INT8: "Int8", 4433: "StorageBuffer16BitAccess",
                4448: "StorageBuffer8BitAccess", 5347: ADDRESSES, MEMORY_MODEL: "VulkanMemoryModel",
                COOPERATIVE_MATRIX: f"CooperativeMatrixKHR ({MATRICES})", BFLOAT16_TYPE: f"BFloat16TypeKHR ({BFLOAT16})",
                DOT_PRODUCT: DOT_PRODUCTS, PACKED_DOT_PRODUCT: DOT_PRODUCTS, BFLOAT16_MATRIX: f"BFloat16CooperativeMatrixKHR ({BFLOAT16})"}
# what a kernel may need: how to do without
WITHOUT = {MATRICES: "compile for the target 'vulkan{matrices=none}'", DOT_PRODUCTS: "compile for the target 'vulkan{dot-products=false}'",
           LONG_INTEGERS: "compile for the target 'vulkan{int64=false}'", "Float64": "have the model compute in f32"}


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
    able |= {"Float64": lambda: plain.shaderFloat64, LONG_INTEGERS: lambda: plain.shaderInt64, "Int16": lambda: plain.shaderInt16}
    return {name for name, there in able.items() if there()}, have


def usable(matrices: Sequence[str], able: Collection[str]) -> tuple[str, ...]:
    """Those of some matrices that kernels can have on a device of these capabilities."""
    types = (("bf16", (FLOAT16, BFLOAT16_TYPE, BFLOAT16_MATRIX)), ("f16", (FLOAT16,)), ("f32", ()), ("s8", (INT8,)), ("u8", (INT8,)))
    names = {kind: {CAPABILITIES[number] for number in (COOPERATIVE_MATRIX, MEMORY_MODEL, *more)} for kind, more in types}
    return tuple(one for one in matrices if names[one.split("_")[1]] <= set(able))


def capabilities(code: bytes) -> list[int]:
    """The capabilities that a SPIR-V module declares, by number."""
    return [one[1] for one in takewhile(lambda one: one[0] == CAPABILITY, instructions(words_of(code)))]
