"""Kernels as native code, by a lowering that knows nothing of schedules, targets and memory plans.

Every kernel is lowered alone, from whatever form it has: loops of tir, structured ops on tensors or buffers, vectors, partly LLVM's
dialect. It goes through upstream's bufferization and conversions to scalar loops and C's math library, at LLVM's lowest optimization
level. A kernel that has not changed is neither compiled nor, for inputs that it has seen, run again.

Two things are added: buffers that a kernel allocates begin with NaN (integers: bytes 0xAB), and all buffers have guards around them.
"""
from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from legato.checking.buffers import PATTERN, Memory, memory_dtype
from legato.checking.errors import Misbehaved, NotEvaluated
from legato.checking.vectors import lower_vectors
from legato.core.errors import LegatoError
from legato.core.ir_helpers import everything, find
from legato.core.mlir import arith, execution_engine, ir, linalg
from legato.core.upstream import run_on
from legato.dialects import tir
from legato.dialects.module import Module
from legato.dialects.tir.markers import SCHEDULE
from legato.passes.gpu.serialize_threads import SerializeThreads
from legato.passes.legalize.legalize_intrinsics import LegalizeIntrinsics
from legato.passes.legalize.lower_intrinsics import LowerIntrinsics
from legato.passes.loops.lower_loops import LowerLoops
from legato.passes.pipeline.base import PassContext, TargetText

BUFFERIZE = "one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map}"
LOOPS = "func.func(scf-forall-to-for,convert-linalg-to-loops,canonicalize,cse)"
HALVES = "func.func(arith-emulate-unsupported-floats{source-types=f16,bf16 target-type=f32},math-extend-to-supported-types)"
DOWN = ("arith-expand{include-bf16=true},convert-vector-to-scf{full-unroll=1},convert-scf-to-cf,expand-strided-metadata,lower-affine,"
        "canonicalize,convert-math-to-llvm,convert-math-to-libm,convert-vector-to-llvm,convert-to-llvm,convert-openmp-to-llvm,"
        "reconcile-unrealized-casts")
DROPPED = ("llvm.bareptr", "passthrough", SCHEDULE, "sym_visibility", "target_cpu", "target_features")  # ways to be called, or compiled
OPT_LEVEL = 0


@dataclass(frozen=True)
class NativeKernel:
    """A compiled kernel: its address takes an array of pointers to its arguments. ``results``: the types of memrefs that it returns."""

    address: int
    engine: Any
    results: tuple[tuple[np.dtype, int], ...]


@dataclass
class CompiledKernels:
    """What is kept over all states of a check: kernels by the digest of their text (or why they cannot be compiled), and their results by
    that of their operands."""

    kernels: dict[bytes, NativeKernel | LegatoError] = field(default_factory=dict)
    results: dict[tuple[bytes, bytes], list[np.ndarray]] = field(default_factory=dict)
    bytes_kept: int = 0


MOST_KEPT = 1 << 30   # bytes of results


class NativeKernels:
    """The kernels of one state of a module."""

    def __init__(self, module: Module, kept: CompiledKernels, context: PassContext, target: str = "llvm"):
        self.module, self.kept, self.context, self.target = module, kept, context, target
        self.functions = {f.name.value: f for f in module.functions()}
        self.symbols = {s: op.operation for op in module.body.operations if (s := _symbol(op.operation)) is not None}
        self._digests: dict[str, bytes] = {}

    def digest(self, name: str) -> bytes:
        """Of a kernel's text, and of all that it refers to."""
        if name not in self._digests:
            hasher = hashlib.blake2b(digest_size=16)
            for one in self._closure(name):
                hasher.update(self.symbols[one].get_asm(use_local_scope=True, assume_verified=True).encode())
            self._digests[name] = hasher.digest()
        return self._digests[name]

    def _closure(self, name: str) -> list[str]:
        """The symbols that a kernel needs, itself first."""
        found, queue = [name], [name]
        while queue:
            for op in everything(self.symbols[queue.pop()]):
                for attribute in ("callee", "name", "global_name"):
                    named = op.attributes[attribute] if attribute in op.attributes else None
                    symbol = named.value if named is not None and isinstance(named, ir.FlatSymbolRefAttr) else None
                    if symbol in self.symbols and symbol not in found:
                        found.append(symbol)
                        queue.append(symbol)
        return found

    def call(self, name: str, operands: Sequence[Any]) -> list[Any]:
        """Calls a kernel on arrays or memory. Returns arrays for the results that it returns; memory is written. NotEvaluated if it cannot
        be compiled, Misbehaved if it has written outside of its buffers."""
        kernel = self._kernel(name)
        memories = [one for one in operands if isinstance(one, Memory)]
        key = (self.digest(name), digest_of(operands)) if not (overlapping(memories) or (memories and kernel.results)) else None
        known = self.kept.results.get(key) if key is not None else None
        if known is not None:
            return self._replay(known, memories)
        results = self._run(name, kernel, operands)
        if key is not None:
            made = [one.array().copy() for one in memories] if memories else results
            self.kept.bytes_kept += sum(array.nbytes for array in made)
            if self.kept.bytes_kept < MOST_KEPT:
                self.kept.results[key] = made
        return list(results)

    def _replay(self, known: list[np.ndarray], memories: list[Memory]) -> list[Any]:
        if not memories:
            return list(known)
        for memory, array in zip(memories, known, strict=True):
            memory.array()[...] = array
        return []

    def _run(self, name: str, kernel: NativeKernel, operands: Sequence[Any]) -> list[Any]:
        given = [Memory.holding(one) if isinstance(one, np.ndarray) else one for one in operands]
        kept: list[Any] = []
        pointers: list[ctypes.c_void_p] = []
        returned = (ctypes.c_int64 * max(1, sum(3 + 2 * rank for _, rank in kernel.results)))()
        if kernel.results:
            kept.append(ctypes.c_void_p(ctypes.addressof(returned)))
            pointers.append(ctypes.c_void_p(ctypes.addressof(kept[-1])))
        types = list(self.functions[name].type.inputs)
        for value, type_ in zip(given, types, strict=True):
            kept += argument(value, self._memory_type(type_))
            pointers.append(ctypes.c_void_p(ctypes.addressof(kept[-1])))
        code = ctypes.c_int64(0)   # of kernels that return one
        pointers.append(ctypes.c_void_p(ctypes.addressof(code)))
        call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(kernel.address)
        table = (ctypes.c_void_p * len(pointers))(*pointers)
        call(ctypes.addressof(table))
        for number, memory in enumerate(given):
            if isinstance(memory, Memory) and not memory.root.is_intact():
                raise Misbehaved(f"the kernel @{name} has written outside of the buffer of its argument {number}")
        if any(isinstance(one, Memory) for one in operands):
            return memory_results(returned, kernel.results, [one for one in given if isinstance(one, Memory)])
        return read_results(returned, kernel.results)

    def _memory_type(self, type_: ir.Type) -> ir.Type:
        return ir.MemRefType.get(type_.shape, type_.element_type) if isinstance(type_, ir.RankedTensorType) else type_

    def _kernel(self, name: str) -> NativeKernel:
        if self.digest(name) not in self.kept.kernels:
            self._compile_missing()
        found = self.kept.kernels[self.digest(name)]
        if isinstance(found, LegatoError):
            raise NotEvaluated(f"the kernel @{name} cannot be compiled alone: {found}")
        return found

    def _compile_missing(self) -> None:
        """Compiles all kernels that are not compiled yet, together; one by one if that fails."""
        missing = {self.digest(f.name.value): f.name.value for f in self.functions.values()
                   if tir.is_prim_func(f) and not f.is_external and self.digest(f.name.value) not in self.kept.kernels}
        try:
            self.kept.kernels |= self._compile(missing)
            return
        except LegatoError as error:
            if len(missing) == 1:
                self.kept.kernels[next(iter(missing))] = error
                return
        for digest, name in missing.items():
            try:
                self.kept.kernels |= self._compile({digest: name})
            except LegatoError as error:
                self.kept.kernels[digest] = error

    def _compile(self, wanted: dict[bytes, str]) -> dict[bytes, NativeKernel]:
        """Native code for kernels, by digest. Raises LegatoError."""
        with self.module.context, ir.Location.unknown():
            copy = Module(ir.Module.create(), self.module.weights)
            for symbol in dict.fromkeys(s for name in wanted.values() for s in self._closure(name)):
                copy.body.append(self.symbols[symbol].clone(ip=False))
            prepare(copy, set(wanted.values()))
            try:
                results = lower(copy, self.context, self.target)
            except ir.MLIRError as error:
                raise LegatoError(str(error).split("\n")[0]) from error
            left = next((op.name for op in everything(copy.operation) if op.name.split(".")[0] not in ("llvm", "builtin", "omp")), None)
            if left is not None:
                raise LegatoError(f"{left} has no plain lowering to LLVM")
            try:
                engine = execution_engine.ExecutionEngine(copy.module, opt_level=OPT_LEVEL)  # pyright: ignore[reportCallIssue]
                addresses = {digest: engine.raw_lookup(f"_mlir_ciface_{name}") for digest, name in wanted.items()}
            except RuntimeError as error:
                raise LegatoError(f"LLVM could not compile it: {error}") from error
        if None in addresses.values() or 0 in addresses.values():
            raise LegatoError("LLVM could not compile it: a function that it calls is in no library")
        return {digest: NativeKernel(addresses[digest], engine, results[name]) for digest, name in wanted.items()}


def _symbol(op: ir.Operation) -> str | None:
    return ir.StringAttr(op.attributes["sym_name"]).value if "sym_name" in op.attributes else None


def prepare(module: Module, kernels: set[str]) -> None:
    """Makes kernels visible, with an interface for C, and drops what says how they are called and scheduled."""
    for function in module.functions():
        for name in DROPPED:
            if name in function.attributes and not function.is_external:
                del function.attributes[name]
        if function.name.value in kernels:
            function.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        elif not function.is_external:
            function.attributes["sym_visibility"] = ir.StringAttr.get("private")


def lower(module: Module, context: PassContext, target: str) -> dict[str, tuple[tuple[np.dtype, int], ...]]:
    """Lowers a module of kernels to the LLVM dialect. Returns the memrefs that each returns, as (dtype, rank)."""
    operation = module.operation
    names = {op.name for op in everything(operation)}
    if any(name in names for name in ("tir.for", "tir.block", "tir.alloc_buffer")):
        SerializeThreads().run(module, PassContext(context.resolve_target))
        LowerLoops().run(module, PassContext(context.resolve_target))
    if any(isinstance(t, ir.RankedTensorType) for f in module.functions() for t in f.type.inputs):
        run_on(operation, BUFFERIZE)
    results = {f.name.value: tuple((memory_dtype(t.element_type), t.rank) for t in f.type.results if isinstance(t, ir.MemRefType))
               for f in module.functions()}
    copies_as_loops(module)
    run_on(operation, LOOPS)
    poison_allocations(module)
    lower_vectors(operation)
    if any(name.startswith("tir.") for name in {op.name for op in everything(operation)}):
        for one in (LegalizeIntrinsics(TargetText(target)), LowerIntrinsics(TargetText(target))):
            one.run(module, PassContext(context.resolve_target))
    if uses_halves(operation):
        run_on(operation, HALVES)
    run_on(operation, f"func.func(convert-linalg-to-loops),{DOWN}")
    return results


def copies_as_loops(module: Module) -> None:
    """Makes copies structured ops: upstream lowers a copy between layouts to a call of a library that is not there."""
    for op in find(module.operation, "memref.copy"):
        with ir.InsertionPoint(op), op.location:
            linalg.copy(op.operands[0], outs=[op.operands[1]])
        op.erase()


def uses_halves(operation: ir.Operation) -> bool:
    """Whether something under an op computes in f16 or bf16."""
    def half(type_: ir.Type) -> bool:
        element = type_.element_type if isinstance(type_, ir.VectorType | ir.MemRefType) else type_
        return isinstance(element, ir.F16Type | ir.BF16Type)

    return any(half(value.type) for op in everything(operation) for value in (*op.operands, *op.results))


def poison_allocations(module: Module) -> None:
    """Fills each buffer that a kernel allocates with what nobody should read."""
    for op in find(module.operation, "memref.alloc", "memref.alloca"):
        element = op.results[0].type.element_type
        if isinstance(element, ir.FloatType):
            attribute: ir.Attribute = ir.FloatAttr.get(element, float("nan"))
        elif isinstance(element, ir.IntegerType) and element.width >= 8:
            attribute = ir.IntegerAttr.get(element, int.from_bytes(bytes([PATTERN]) * (element.width // 8), "little", signed=True))
        else:
            continue
        with after(op), op.location:
            linalg.fill(arith.ConstantOp(element, attribute).result, outs=[op.results[0]])


def after(op: ir.Operation) -> ir.InsertionPoint:
    """The insertion point after an op that is not the last of its block."""
    operations = [one.operation for one in op.block.operations]
    return ir.InsertionPoint(operations[operations.index(op) + 1])


def argument(value: Any, type_: ir.Type) -> list[Any]:
    """An argument of the C interface as ctypes objects; the last one is what the caller points to."""
    if isinstance(value, Memory):
        _, offset = type_.get_strides_and_offset()   # a static one is not read from the descriptor
        offset = value.offset if offset == ir.ShapedType.get_dynamic_stride_or_offset() else offset
        start = value.address + (value.offset - offset) * value.dtype.itemsize
        numbers = [start, start, offset, *value.sizes, *value.strides]
        words = (ctypes.c_int64 * len(numbers))(*numbers)
        return [words, ctypes.c_void_p(ctypes.addressof(words))]
    if isinstance(value, int):
        return [ctypes.c_int64(value)]
    return [ctypes.create_string_buffer(np.asarray(value).tobytes() + bytes(8))]


def read_results(words: Any, types: Sequence[tuple[np.dtype, int]]) -> list[np.ndarray]:
    """Copies of the arrays that descriptors of memrefs describe."""
    found, at = [], 0
    for dtype, rank in types:
        _, aligned, offset, *rest = words[at:at + 3 + 2 * rank]
        sizes, strides = rest[:rank], rest[rank:]
        count = 0 if 0 in sizes else offset + sum((n - 1) * s for n, s in zip(sizes, strides)) + 1
        flat = np.frombuffer((ctypes.c_char * (count * dtype.itemsize)).from_address(aligned), np.uint8) if count else np.empty(0, np.uint8)
        view = np.ndarray(sizes, dtype, flat, offset * dtype.itemsize, [s * dtype.itemsize for s in strides]) if count \
            else np.empty(sizes, dtype)
        found.append(np.ascontiguousarray(view).copy().reshape(sizes))
        at += 3 + 2 * rank
    return found


def memory_results(words: Any, types: Sequence[tuple[np.dtype, int]], operands: Sequence[Memory]) -> list[Memory]:
    """The memrefs that descriptors describe: views of operands, or memory with a copy of what the kernel has allocated."""
    found, at = [], 0
    for array, (dtype, rank) in zip(read_results(words, types), types):
        _, aligned, offset, *rest = words[at:at + 3 + 2 * rank]
        root = next((one.root for one in operands if one.address == aligned), None)
        found.append(Memory.holding(array) if root is None else Memory(root, dtype, offset, tuple(rest[:rank]), tuple(rest[rank:])))
        at += 3 + 2 * rank
    return found


def digest_of(values: Sequence[Any]) -> bytes:
    """Of operands: their types and contents."""
    hasher = hashlib.blake2b(digest_size=16)
    for value in values:
        array = value.array() if isinstance(value, Memory) else np.asarray(value)
        hasher.update(f"{array.dtype}{array.shape}".encode())
        hasher.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return hasher.digest()


def overlapping(memories: Sequence[Memory]) -> bool:
    """Whether two operands share bytes."""
    spans = []
    for memory in memories:
        if 0 not in memory.sizes:
            start = memory.address + memory.offset * memory.dtype.itemsize
            spans.append((start, start + (1 + sum((n - 1) * s for n, s in zip(memory.sizes, memory.strides))) * memory.dtype.itemsize))
    spans.sort()
    return any(a[1] > b[0] for a, b in pairwise(spans))
