"""tir-emulate-long-integers: kernels compute integers of 64 bits in words of 32, for devices that have no longer ones.

Upstream's arith-emulate-wide-int and memref-emulate-wide-int do the same to ``arith`` and to loads and stores. They leave divisions, what
loops and branches carry, kernels' arguments and vectors of such integers that SPIR-V has no types for, and round casts to floats twice.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from legato.core.dtypes import array_of
from legato.core.errors import UnsupportedError
from legato.core.ir_helpers import element_of, find, in_program_order, with_element
from legato.core.locations import describe
from legato.core.mlir import arith, ir, memref, vector
from legato.dialects.module import Module
from legato.passes.gpu import long_arithmetic as long
from legato.passes.gpu.launches import launches_of
from legato.passes.gpu.long_arithmetic import Long, P, word
from legato.passes.pipeline.base import ModulePass, PassContext

LONG = 64       # bits
BINARY: dict[str, Callable[[Long, Long], Long]] = {
    "arith.addi": long.add, "arith.subi": long.subtract, "arith.muli": long.multiply, "arith.shli": long.shift_left,
    "arith.shrui": long.shift_right(False), "arith.shrsi": long.shift_right(True),
    "arith.maxsi": long.extreme(P.sgt), "arith.minsi": long.extreme(P.slt),
    "arith.maxui": long.extreme(P.ugt), "arith.minui": long.extreme(P.ult),
    "arith.divsi": long.divide(True, False), "arith.remsi": long.divide(True, True),
    "arith.divui": long.divide(False, False), "arith.remui": long.divide(False, True)}
TO_FLOAT = {"arith.sitofp": long.to_float(True), "arith.uitofp": long.to_float(False)}
FROM_FLOAT = {"arith.fptosi": long.from_float(True), "arith.fptoui": long.from_float(False)}
EXTENDED, SIGNED = ("arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui"), ("arith.extsi", "arith.index_cast")
# the same op on the lower words and on the upper ones
BY_WORD = ("arith.select", "arith.andi", "arith.ori", "arith.xori", "vector.broadcast", "vector.extract", "vector.from_elements",
           "vector.insert", "vector.shuffle", "vector.extract_strided_slice", "vector.insert_strided_slice", "ub.poison")
CARRIERS = ("scf.for", "scf.if", "scf.while", "scf.yield", "scf.condition")
BUFFERS = ("memref.alloc", "memref.alloca")


@dataclass(frozen=True)
class EmulateLongIntegers(ModulePass):
    """Leaves GPU kernels, in the form of ``tir-flatten-kernels``, no integers of 64 bits: a value is two of 32 bits, an element of a buffer
    a vector of two, the lower one first, so that buffers are as they were. UnsupportedError for an op that has no form in words."""

    name: ClassVar[str] = "tir-emulate-long-integers"

    def run(self, module: Module, context: PassContext) -> None:
        launches = launches_of(module.module)
        with module.context, ir.Location.unknown():
            for holder in find(module.operation, "gpu.module"):
                types: dict[str, list[ir.Type]] = {}
                for kernel in find(holder, "gpu.func"):
                    retype(kernel)
                    Emulation().run(kernel)
                    types[kernel.attributes["sym_name"].value] = [a.type for a in kernel.regions[0].blocks[0].arguments]
                for launch in launches.get(holder.attributes["sym_name"].value, ()):
                    wanted = types[ir.SymbolRefAttr(launch.attributes["kernel"]).value[1]]
                    for value, type_ in zip(list(launch.operands)[-len(wanted):] if wanted else (), wanted, strict=True):
                        value.set_type(type_)       # the cast of a buffer to one of the storage class


def is_long(value: ir.Value) -> bool:
    """Whether a value is an integer of 64 bits, a vector of such, or a buffer of them."""
    element = element_of(value.type)
    return isinstance(element, ir.IntegerType) and element.width == LONG


def retype(kernel: ir.Operation) -> None:
    """Gives the buffers of a kernel elements of two words."""
    block = kernel.regions[0].blocks[0]
    for value in (*block.arguments, *(op.results[0] for op in find(kernel, *BUFFERS))):
        if is_long(value):
            old = ir.MemRefType(value.type)
            value.set_type(ir.MemRefType.get(old.shape, ir.VectorType.get([2], word()), old.layout, old.memory_space))
    kernel.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get([a.type for a in block.arguments], []))


class Emulation:
    """The rewriting of one kernel. ``words``: those of the values of 64 bits that were met; ``old``: ops to be erased, which later ones may
    still use; ``blocks``: of which so many arguments are to be."""

    def __init__(self) -> None:
        self.words: dict[ir.Value, Long] = {}
        self.old: list[ir.Operation] = []
        self.blocks: list[tuple[ir.Block, int]] = []

    def run(self, kernel: ir.Operation) -> None:
        """Rewrites all ops, in order."""
        for op in in_program_order(kernel)[1:]:
            if any(map(is_long, (*op.operands, *op.results))):
                with ir.InsertionPoint(op), op.location:
                    self.rewrite(op)
                self.old.append(op)
        for op in reversed(self.old):
            op.erase()
        for block, count in self.blocks:
            for number in reversed(range(count)):
                block.erase_argument(number)

    def rewrite(self, op: ir.Operation) -> None:
        """Builds what computes the same as one op."""
        if op.name in CARRIERS:
            made = ir.Operation.create(op.name, self.split_types(op.results), self.split(op.operands),
                                       {name: op.attributes[name] for name in op.attributes}, regions=len(op.regions))
            for region, into in zip(op.regions, made.regions):
                for block in list(region.blocks):
                    block.append_to(into)
                    count = len(block.arguments)
                    new = [block.add_argument(type_, op.location) for type_ in self.split_types(block.arguments)]
                    self.replace(list(block.arguments)[:count], new)
                    self.blocks.append((block, count))
            self.replace(op.results, list(made.results))
            return
        found = computed(op, [self.words.get(value, value) for value in op.operands])
        if isinstance(found, Long):
            self.words[op.results[0]] = found
        elif found is not None:
            op.results[0].replace_all_uses_with(found)

    def split(self, values: Iterable[ir.Value]) -> list[ir.Value]:
        """The values, with two words for each one of 64 bits."""
        return [part for value in values
                for part in ((self.words[value].low, self.words[value].high) if value in self.words else (value,))]

    def split_types(self, values: Iterable[ir.Value]) -> list[ir.Type]:
        """Likewise, the types."""
        return [type_ for value in values for type_ in ([with_element(value.type, word())] * 2 if is_long(value) else [value.type])]

    def replace(self, values: Iterable[ir.Value], parts: Iterable[ir.Value]) -> None:
        """Puts values as ``split`` has them in the place of old ones."""
        rest = iter(parts)
        for value in values:
            if is_long(value):
                self.words[value] = Long(next(rest), next(rest))
            else:
                value.replace_all_uses_with(next(rest))


def computed(op: ir.Operation, given: Sequence[Any]) -> Long | ir.Value | None:
    """What an op gives for operands of which those of 64 bits are in words. UnsupportedError for one that has no form in words."""
    if op.name in BINARY:
        return BINARY[op.name](*given)
    if op.name in BY_WORD:
        return by_word(op, given)
    if op.name == "arith.constant":
        return constant(op)
    if op.name == "arith.cmpi":
        return long.compare(ir.IntegerAttr(op.attributes["predicate"]).value, *given)
    if op.name in EXTENDED and is_long(op.results[0]):
        return extended(op)
    if op.name in ("arith.trunci", *EXTENDED):
        return shortened(op, given[0].low)
    if op.name in TO_FLOAT:
        return TO_FLOAT[op.name](given[0], op.results[0].type)
    if op.name in FROM_FLOAT:
        return FROM_FLOAT[op.name](given[0])
    if op.name == "arith.bitcast":
        return long.from_bits(given[0]) if is_long(op.results[0]) else long.to_bits(given[0], op.results[0].type)
    if op.name == "math.absi":
        return long.absolute(given[0])
    if op.name == "memref.load":
        pair = memref.load(given[0], list(given[1:]))
        return Long(long.lane(pair, 0), long.lane(pair, 1))
    if op.name == "memref.store":
        pair = vector.from_elements(ir.VectorType.get([2], word()), [given[0].low, given[0].high])
        memref.store(pair, given[1], list(given[2:]))
        return None
    raise UnsupportedError(f"{describe(op)}: {op.name} of integers of 64 bits has no form in words of 32 bits, and the device has no "
                           "longer ones; have the model compute it in i32")


def by_word(op: ir.Operation, given: Sequence[Any]) -> Long:
    """The op on the lower words and on the upper ones."""
    def made(part: str) -> ir.Value:
        operands = [getattr(one, part) if isinstance(one, Long) else one for one in given]
        return ir.Operation.create(op.name, [with_element(op.results[0].type, word())], operands,
                                   {name: op.attributes[name] for name in op.attributes}).results[0]
    return Long(made("low"), made("high"))


def constant(op: ir.Operation) -> Long:
    """A constant in words."""
    attribute, type_ = op.attributes["value"], with_element(op.results[0].type, word())
    if isinstance(attribute, ir.IntegerAttr):
        low, high = np.array([attribute.value], np.int64).view(np.int32)
        return Long(long.number(type_, int(low)), long.number(type_, int(high)))
    pairs = np.ascontiguousarray(array_of(attribute)).astype(np.int64).view(np.int32).reshape(-1, 2)
    low, high = (arith.ConstantOp(type_, ir.DenseElementsAttr.get(np.ascontiguousarray(pairs[:, part]), type=type_)).result
                 for part in range(2))
    return Long(low, high)


def extended(op: ir.Operation) -> Long:
    """A shorter integer, or an index, as one of 64 bits."""
    short, type_ = op.operands[0], with_element(op.results[0].type, word())
    low = short if short.type == type_ else ir.Operation.create(op.name, [type_], [short]).results[0]
    return Long(low, long.sign(low) if op.name in SIGNED else long.number(type_, 0))


def shortened(op: ir.Operation, low: ir.Value) -> ir.Value:
    """A shorter integer, or an index, which has 32 bits, of the lower word."""
    type_ = op.results[0].type
    return low if low.type == type_ else ir.Operation.create(op.name, [type_], [low]).results[0]
