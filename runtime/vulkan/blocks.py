"""What a block of a SPIR-V kernel takes of a device: threads, and shared memory."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from legato.core.errors import LegatoError
from legato.runtime.vulkan.addresses import Instruction, instructions, words_of

EXECUTION_MODE, LOCAL_SIZE = 16, 17     # an instruction, and the mode
BOOLEAN, INTEGER, FLOAT, VECTOR, ARRAY, STRUCT, POINTER, CONSTANT, VARIABLE = 20, 21, 22, 23, 28, 30, 32, 43, 59
WORKGROUP = 4                           # a storage class


@dataclass(frozen=True)
class BlockLimits:
    """What a device takes. ``threads``: in a block; ``axes``: of these along each axis; ``shared``: bytes of a block's shared memory."""

    threads: int
    axes: tuple[int, ...]
    shared: int


def block_of(code: Sequence[Instruction]) -> tuple[int, int, int]:
    """The threads of a kernel's blocks, along each axis."""
    x, y, z = next(one[3:6] for one in code if one[0] == EXECUTION_MODE and one[2] == LOCAL_SIZE)
    return x, y, z


def shared_bytes(code: Sequence[Instruction]) -> int:
    """The bytes of a kernel's shared memory."""
    defined = {one[1]: one for one in code if one[0] in (BOOLEAN, INTEGER, FLOAT, VECTOR, ARRAY, STRUCT, POINTER)}
    constants = {one[2]: one[3] for one in code if one[0] == CONSTANT}

    def size(type_: int) -> int:
        one = defined[type_]
        if one[0] == STRUCT:
            return sum(size(member) for member in one[2:])
        if one[0] == ARRAY:
            return size(one[2]) * constants[one[3]]
        if one[0] == VECTOR:
            return size(one[2]) * one[3]
        return 4 if one[0] == BOOLEAN else one[2] // 8

    return sum(size(defined[one[1]][3]) for one in code if one[0] == VARIABLE and one[3] == WORKGROUP)


def check_block(name: str, binary: bytes, device: str, limits: BlockLimits) -> None:
    """LegatoError, with the numbers, for a kernel whose blocks take more than the device has."""
    code = list(instructions(words_of(binary)))
    block, shared = block_of(code), shared_bytes(code)
    less = "write its schedule for less, or compile for the target 'vulkan{schedules=false}', whose kernels take less"
    if prod(block) > limits.threads or any(count > most for count, most in zip(block, limits.axes)):
        raise LegatoError(f"the kernel {name} has blocks of {' x '.join(map(str, block))} threads, and the device {device} takes "
                          f"{limits.threads}, {' x '.join(map(str, limits.axes))} at most along the axes: {less}")
    if shared > limits.shared:
        raise LegatoError(f"the kernel {name} takes {shared} bytes of shared memory, and the device {device} has {limits.shared} for a "
                          f"block: {less}")
