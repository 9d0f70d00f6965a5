"""SPIR-V kernels that reach some of their buffers by device addresses, where these are larger, or more, than what a device binds.

A bound storage buffer has at most ``maxStorageBufferRange`` bytes, of which Vulkan promises 128 MiB, and a kernel has at most
``maxPerStageDescriptorStorageBuffers`` of them; what lies at an address (the storage class PhysicalStorageBuffer) is as large as the
device's memory allows. Only the driver knows the limits, and only a call its sizes: so a kernel is rewritten when it is made for a launch.
"""
from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from legato.core.errors import LegatoError

HEADER_WORDS, BOUND = 5, 3      # words before the first instruction, and which of them is above all ids
CAPABILITY, EXTENSION, MEMORY_MODEL, NAME, DECORATE = 17, 10, 14, 5, 71
INTEGER, VECTOR, STRUCT, RUNTIME_ARRAY, POINTER, CONSTANT = 21, 23, 30, 29, 32, 43
FUNCTION, LABEL, VARIABLE, LOAD, STORE, ACCESS_CHAIN, BITCAST, CONSTRUCT = 54, 248, 59, 61, 62, 65, 124, 80
OTHER_USES = (57, 66, 67, 68, 83)       # of a pointer: OpFunctionCall, Op(InBounds|Ptr)AccessChain, OpArrayLength, OpCopyObject
BINDING, ARRAY_STRIDE = 33, 6                                   # decorations
STORAGE_BUFFER, PHYSICAL_STORAGE_BUFFER = 12, 5349              # storage classes
PHYSICAL_STORAGE_BUFFER_ADDRESSES, PHYSICAL_STORAGE_BUFFER_64 = 5347, 5348      # a capability, an addressing model
ALIGNED = 2                                                     # a flag of a load or store, with the alignment behind the flags
ADDRESS_WORDS = 2

Instruction = list[int]


def instructions(words: Sequence[int]) -> Iterator[Instruction]:
    """The instructions of a module: each its opcode and its operands."""
    at = HEADER_WORDS
    while at < len(words):
        yield [words[at] & 0xFFFF, *words[at + 1:at + (words[at] >> 16)]]
        at += words[at] >> 16


def words_of(code: bytes) -> tuple[int, ...]:
    """The words of a SPIR-V binary."""
    return struct.unpack(f"<{len(code) // 4}I", code)


def strides(code: bytes) -> dict[int, int]:
    """The bytes of an element of each bound buffer, by its binding."""
    kernel = KernelBuffers.of(list(instructions(words_of(code))))
    return {binding: kernel.item(variable) for binding, variable in kernel.bound.items()}


@dataclass(frozen=True)
class KernelBuffers:
    """The bound buffers of a kernel. ``bound``: the variable of each binding; ``types``: of the variables; ``defined``: the instruction of
    each type; ``item_bytes``: of the elements of arrays."""

    bound: dict[int, int]
    types: dict[int, int]
    defined: dict[int, Instruction]
    item_bytes: dict[int, int]

    @staticmethod
    def of(code: Sequence[Instruction]) -> KernelBuffers:
        """Those of a module."""
        decorations = [one for one in code if one[0] == DECORATE]
        return KernelBuffers({one[3]: one[1] for one in decorations if one[2] == BINDING},
                             {one[2]: one[1] for one in code if one[0] == VARIABLE},
                             {one[1]: one for one in code if one[0] in (INTEGER, VECTOR, STRUCT, RUNTIME_ARRAY, POINTER)},
                             {one[1]: one[3] for one in decorations if one[2] == ARRAY_STRIDE})

    def content(self, variable: int) -> int:
        """The struct type that a buffer's variable points to."""
        return self.defined[self.types[variable]][3]

    def item(self, variable: int) -> int:
        """The bytes of a buffer's elements."""
        return self.item_bytes[self.defined[self.content(variable)][2]]


def by_address(code: bytes, bindings: Sequence[int], first: int) -> bytes:
    """The kernel with the buffers of some bindings at addresses. These are two words each, in the order of ``bindings``, from word
    ``first`` on of the buffer of 32-bit integers that is bound last. LegatoError for a kernel that does something else with a buffer than
    load and store elements."""
    return Rewriting(words_of(code), bindings, first).binary()


class Rewriting:
    """One kernel on its way. ``reached``: the variables of the buffers that are reached by address, and the place of each in order;
    ``chains``: pointers to their elements, with the elements' bytes; ``made``: types and constants to be added."""

    def __init__(self, words: Sequence[int], bindings: Sequence[int], first: int) -> None:
        self.header, self.first = list(words[:HEADER_WORDS]), first
        self.code = list(instructions(words))
        self.buffers = KernelBuffers.of(self.code)
        self.reached = {self.buffers.bound[binding]: place for place, binding in enumerate(bindings)}
        self.numbers = self.buffers.bound[max(self.buffers.bound)]
        self.chains: dict[int, int] = {}
        self.made: list[Instruction] = []
        self.known: dict[tuple[int, ...], int] = {}

    def binary(self) -> bytes:
        """The rewritten module."""
        body = next(number for number, one in enumerate(self.code) if one[0] == FUNCTION)
        functions = self.functions(self.code[body:])
        found: list[Instruction] = [[CAPABILITY, PHYSICAL_STORAGE_BUFFER_ADDRESSES]]
        for one in self.code[:body]:
            if one[0] == MEMORY_MODEL:
                one = [MEMORY_MODEL, PHYSICAL_STORAGE_BUFFER_64, one[2]]
            if one[0] != CAPABILITY and found[-1][0] == CAPABILITY:
                found.append([EXTENSION, *literal("SPV_KHR_physical_storage_buffer")])
            if one[0] not in (NAME, DECORATE, VARIABLE) or self.reached.keys().isdisjoint(one[2 if one[0] == VARIABLE else 1:][:1]):
                found.append(one)
        flat = [word for one in (*found, *self.made, *functions) for word in ((len(one) << 16) | one[0], *one[1:])]
        return struct.pack(f"<{HEADER_WORDS + len(flat)}I", *self.header, *flat)

    def functions(self, code: Sequence[Instruction]) -> list[Instruction]:
        """The functions, each of which makes pointers of the addresses where its first block begins."""
        found: list[Instruction] = []
        bases: dict[int, int] = {}
        begins = False
        for one in code:
            if one[0] == FUNCTION:
                begins = True
            elif begins and one[0] not in (LABEL, VARIABLE, FUNCTION + 1):
                begins = False
                bases = {variable: self.base(variable, place, found) for variable, place in self.reached.items()}
            found.append(self.rewritten(one, bases))
        return found

    def base(self, variable: int, place: int, code: list[Instruction]) -> int:
        """A pointer to a buffer, of the two words of its address; its instructions go to ``code``."""
        word = self.buffers.defined[self.buffers.defined[self.buffers.content(self.numbers)][2]][2]
        pointer = self.define(POINTER, STORAGE_BUFFER, word)
        halves = []
        for number in range(ADDRESS_WORDS):
            at, half = self.new(), self.new()
            index = self.constant(word, self.first + ADDRESS_WORDS * place + number)
            code += [[ACCESS_CHAIN, pointer, at, self.numbers, self.constant(word, 0), index], [LOAD, word, half, at]]
            halves.append(half)
        pair, made = self.new(), self.new()
        code.append([CONSTRUCT, self.define(VECTOR, word, ADDRESS_WORDS), pair, *halves])
        code.append([BITCAST, self.define(POINTER, PHYSICAL_STORAGE_BUFFER, self.buffers.content(variable)), made, pair])
        return made

    def rewritten(self, one: Instruction, bases: dict[int, int]) -> Instruction:
        """An instruction of a function, on pointers made of addresses."""
        if one[0] == ACCESS_CHAIN and one[3] in self.reached:
            _, type_, result, variable, *indices = one
            self.chains[result] = self.buffers.item(variable)
            element = self.buffers.defined[type_][3]
            return [ACCESS_CHAIN, self.define(POINTER, PHYSICAL_STORAGE_BUFFER, element), result, bases[variable], *indices]
        if one[0] == LOAD and one[3] in self.chains:
            return [*one[:4], *aligned(one[4:], self.chains[one[3]])]
        if one[0] == STORE and one[1] in self.chains:
            return [*one[:3], *aligned(one[3:], self.chains[one[1]])]
        used = one[3:4] if one[0] == LOAD else one[1:2] if one[0] == STORE else one[3:] if one[0] in OTHER_USES else ()
        if self.reached.keys() & set(used):
            raise LegatoError(f"SPIR-V's instruction {one[0]} uses a whole buffer, which has no form for one at an address")
        return one

    def define(self, opcode: int, *operands: int) -> int:
        """A type with these operands: the module's own, or a new one."""
        for one in (*self.buffers.defined.values(), *self.made):
            if one[0] == opcode and tuple(one[2:]) == operands:
                return one[1]
        self.made.append([opcode, self.new(), *operands])
        return self.made[-1][1]

    def constant(self, type_: int, value: int) -> int:
        """A constant of a type of 32 bits."""
        if (type_, value) not in self.known:
            self.known[type_, value] = self.new()
            self.made.append([CONSTANT, type_, self.known[type_, value], value])
        return self.known[type_, value]

    def new(self) -> int:
        """A new id."""
        self.header[BOUND] += 1
        return self.header[BOUND] - 1


def aligned(flags: Sequence[int], bytes_: int) -> list[int]:
    """The memory operands of a load or store with an alignment, which addresses want."""
    mask, *rest = flags or (0,)
    return [mask, *rest] if mask & ALIGNED else [mask | ALIGNED, bytes_, *rest]


def literal(text: str) -> list[int]:
    """The words of a string, which ends in a zero byte."""
    data = text.encode() + bytes(4 - len(text) % 4)
    return list(words_of(data))
