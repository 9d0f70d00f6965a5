"""Cooperative matrices of a Vulkan device (VK_KHR_cooperative_matrix): which it has, and which a kernel multiplies."""
from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from legato.core.errors import LegatoError
from legato.runtime.vulkan.addresses import Instruction, instructions, words_of
from legato.runtime.vulkan.blocks import block_of
from legato.runtime.vulkan.features import BFLOAT16, MATRICES, SUBGROUP_SIZES

EXTENSIONS = (MATRICES, BFLOAT16, SUBGROUP_SIZES)
QUERY = "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"
COMPONENTS = {0: "f16", 1: "f32", 3: "s8", 5: "i32", 7: "u8", 1000141000: "bf16"}      # VkComponentTypeKHR, of those that kernels use
BYTES, SUMS = ("s8", "u8"), ("f16", "f32", "i32")
SUBGROUP = 3                        # VkScopeKHR
# SPIR-V's instructions
TYPE_INTEGER, TYPE_FLOAT, CONSTANT, TYPE_MATRIX, MULTIPLY = 21, 22, 43, 4456, 4459
SIGNED = (1, 2)                     # flags of a product: of the left, and of the right factor


@dataclass(frozen=True)
class Subgroups:
    """The threads of a device's subgroups. ``size``: of those that it makes by itself; ``least``, ``most``: that a kernel can ask for, 0
    where it cannot."""

    size: int
    least: int = 0
    most: int = 0

    def takes(self, threads: int) -> bool:
        """Whether a kernel can have subgroups of so many threads."""
        return threads == self.size or (self.least <= threads <= self.most and threads & (threads - 1) == 0)


def extensions_of(vk: Any, physical: Any) -> list[str]:
    """Those of ``EXTENSIONS`` that a device has."""
    there = {one.extensionName for one in vk.vkEnumerateDeviceExtensionProperties(physical, None)}
    return [name for name in EXTENSIONS if name in there]


def subgroups_of(vk: Any, physical: Any, can_ask: bool) -> Subgroups:
    """The subgroups of a device. ``can_ask``: whether kernels can ask for a size."""
    plain = vk.VkPhysicalDeviceSubgroupProperties()
    sizes = vk.VkPhysicalDeviceSubgroupSizeControlProperties(pNext=plain)
    about = vk.VkPhysicalDeviceProperties2(pNext=sizes if can_ask else plain)
    vk.vkGetPhysicalDeviceProperties2(physical, about)
    chosen = can_ask and sizes.requiredSubgroupSizeStages & vk.VK_SHADER_STAGE_COMPUTE_BIT
    return Subgroups(plain.subgroupSize, sizes.minSubgroupSize, sizes.maxSubgroupSize) if chosen else Subgroups(plain.subgroupSize)


def matrices_of(vk: Any, instance: Any, physical: Any) -> tuple[str, ...]:
    """The shapes and types of matrices that a device with the extension multiplies, as texts ("m16n16k16_f16_f32")."""
    ffi = vk.ffi
    query = ffi.cast(f"PFN_{QUERY}", vk.lib.vkGetInstanceProcAddr(instance, ffi.new("char[]", QUERY.encode())))
    count = ffi.new("uint32_t *")
    if query == ffi.NULL or query(physical, count, ffi.NULL):
        return ()
    found = ffi.new("VkCooperativeMatrixPropertiesKHR[]", count[0])
    for one in found:
        one.sType = vk.VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR
    return () if query(physical, count, found) else named(found)


def named(found: Sequence[Any]) -> tuple[str, ...]:
    """The texts of VkCooperativeMatrixPropertiesKHR that kernels can use: of one type of factors, or of bytes with and without signs, and
    one of sums, without saturation."""
    texts = []
    for one in found:
        left, right, result = (COMPONENTS.get(type_, "") for type_ in (one.AType, one.BType, one.CType))
        integers = left in BYTES and right in BYTES
        fits = result in SUMS and (result == "i32") == integers and (integers or left == right) and left not in ("", "i32")
        if one.scope == SUBGROUP and fits and one.CType == one.ResultType and not one.saturatingAccumulation:
            texts.append(text_of(one.MSize, one.NSize, one.KSize, left, right, result))
    return tuple(dict.fromkeys(texts))


def text_of(rows: int, columns: int, depth: int, left: str, right: str, result: str) -> str:
    """The text of a shape, of factors of one type, or of two, and of sums."""
    return f"m{rows}n{columns}k{depth}_{left if left == right else f'{left}_{right}'}_{result}"


def multiplied(code: Sequence[Instruction]) -> list[str]:
    """The shapes and types of the matrices that a kernel multiplies, as texts."""
    defined = {one[1]: one for one in code if one[0] in (TYPE_INTEGER, TYPE_FLOAT, TYPE_MATRIX)}
    constants = {one[2]: one[3] for one in code if one[0] == CONSTANT}
    types = {one[2]: one[1] for one in code if len(one) > 2 and one[1] in defined}    # of the values

    def element(matrix: Instruction, is_signed: bool) -> str:
        kind, _, bits, *more = defined[matrix[2]]
        if kind == TYPE_INTEGER:
            return f"{'s' if is_signed else 'u'}8" if bits == 8 else f"i{bits}"
        return "bf16" if more else f"f{bits}"

    found = []
    for one in code:
        if one[0] == MULTIPLY:
            left, right, result = defined[types[one[3]]], defined[types[one[4]]], defined[one[1]]
            rows, depth, columns = constants[left[4]], constants[left[5]], constants[result[5]]
            flags = one[6] if len(one) > 6 else 0
            first, second = (element(matrix, bool(flags & flag)) for matrix, flag in zip((left, right), SIGNED))
            found.append(text_of(rows, columns, depth, first, second, element(result, True)))
    return list(dict.fromkeys(found))


def subgroup_of(name: str, code: bytes, device: str, matrices: Collection[str], subgroups: Subgroups) -> int:
    """The threads of the subgroups that a kernel with matrices has to have; 0 for a kernel without any. LegatoError where the device does
    not have these, or does not multiply such matrices."""
    found = list(instructions(words_of(code)))
    wanted = multiplied(found)
    if not wanted:
        return 0
    lacking = [one for one in wanted if one not in matrices]
    if lacking:
        raise LegatoError(f"the kernel {name} multiplies cooperative matrices {', '.join(lacking)}, and the device {device} has "
                          f"{', '.join(matrices) or 'none'}: compile for the target 'vulkan{{matrices={'+'.join(matrices) or 'none'}}}'")
    threads = block_of(found)[0]
    if not subgroups.takes(threads):
        sizes = f"{subgroups.least} to {subgroups.most}" if subgroups.most else str(subgroups.size)
        raise LegatoError(f"the kernel {name} is made for subgroups of {threads} threads, and the device {device} has subgroups of "
                          f"{sizes}: compile for the target 'vulkan{{subgroup={subgroups.size}}}'")
    return threads


def host() -> tuple[tuple[str, ...], int]:
    """The matrices of half floats that this machine's device multiplies, and the threads of its subgroups; none without a driver, or a
    device. Those of f32 are left out: Vulkan does not say how exact they are, and a model has to ask for less than f32."""
    from legato.runtime.vulkan.device import the_device

    try:
        device = the_device()
    except LegatoError:
        return (), 0
    return tuple(one for one in device.matrices if "_f32_" not in one), device.subgroups.size
