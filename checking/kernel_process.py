"""Compiles kernels by the plain lowering, and calls them. It runs in a child process; requests and answers are values."""
from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from legato.checking.buffers import Memory, Root
from legato.checking.errors import Misbehaved, NotEvaluated
from legato.checking.kernel_lowering import lower, prepare
from legato.checking.launch_text import TURN
from legato.checking.launches import order_matters
from legato.core.errors import LegatoError
from legato.core.ir_helpers import everything
from legato.core.mlir import execution_engine, ir
from legato.dialects.module import Module
from legato.passes.pipeline.base import PassContext

OPT_LEVEL = 0
DYNAMIC = ir.ShapedType.get_dynamic_stride_or_offset()
MemrefTypes = tuple[tuple[np.dtype, int], ...]


@dataclass(frozen=True)
class CompileRequest:
    """``text``: a module of kernels and all that they refer to; ``kernels``: their names by digest. The answer: nothing."""

    text: str
    kernels: dict[bytes, str]


@dataclass(frozen=True)
class SentMemory:
    """A memref in a request or an answer: ``root`` is the number of its allocation, the rest as in ``Memory``."""

    root: int
    dtype: np.dtype
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    base: int


@dataclass(frozen=True)
class CallRequest:
    """A call of a kernel by its digest. ``roots``: the bytes of its operands' allocations; ``operands``: memory, or numbers."""

    kernel: bytes
    name: str
    roots: list[np.ndarray]
    operands: list[Any]


@dataclass(frozen=True)
class CallAnswer:
    """``roots``: as they are after the call; ``results``: memrefs that it returned, as views of roots or as arrays of their own."""

    roots: list[np.ndarray]
    results: list[SentMemory | np.ndarray]


@dataclass(frozen=True)
class NativeKernel:
    """A compiled kernel: its address takes an array of pointers to its arguments. ``offsets``: the static offset of each argument that is
    a memref, else None; ``results``: the types of memrefs that it returns; ``turn``: the address of what sets the order of a launch's
    threads, for kernels whose results must not depend on it."""

    address: int
    engine: Any
    offsets: tuple[int | None, ...]
    results: MemrefTypes
    turn: int | None = None


class KernelProcess:
    """Answers requests. ``context``: of the module, with the dialects that it has; `passes`: resolves the target."""

    def __init__(self, context: ir.Context, passes: PassContext, target: str):
        self.context, self.passes, self.target = context, passes, target
        self.kernels: dict[bytes, NativeKernel] = {}

    def __call__(self, request: CompileRequest | CallRequest) -> CallAnswer | None:
        """Raises LegatoError for what cannot be compiled, Misbehaved for a kernel that writes outside of its operands."""
        if isinstance(request, CompileRequest):
            self.kernels |= self.compiled(request)
            return None
        kernel = self.kernels[request.kernel]
        if kernel.turn is None:
            return called(kernel, request)
        found, other = (in_order(kernel, order, request) for order in range(2))
        if any(a.tobytes() != b.tobytes() for a, b in zip(found.roots, other.roots)):
            raise Misbehaved(f"what the kernel @{request.name} computes depends on the order of a GPU's threads: a barrier is missing, or "
                             "several threads write one element")
        return found

    def compiled(self, request: CompileRequest) -> dict[bytes, NativeKernel]:
        """Native code for kernels, by digest. Raises LegatoError."""
        with self.context, ir.Location.unknown():
            module = Module(ir.Module.parse(request.text))
            prepare(module, set(request.kernels.values()))
            ordered = order_matters(module)
            offsets = {f.name.value: tuple(map(static_offset, f.type.inputs)) for f in module.functions()}
            try:
                results = lower(module, self.passes, self.target)
            except ir.MLIRError as error:
                raise LegatoError(str(error).split("\n")[0]) from error
            left = next((op.name for op in everything(module.operation) if op.name.split(".")[0] not in ("llvm", "builtin", "omp")), None)
            if left is not None:
                raise LegatoError(f"{left} has no plain lowering to LLVM")
            try:
                engine = execution_engine.ExecutionEngine(module.module, opt_level=OPT_LEVEL)  # pyright: ignore[reportCallIssue]
                addresses = {digest: engine.raw_lookup(f"_mlir_ciface_{name}") for digest, name in request.kernels.items()}
                turn = engine.raw_lookup(f"_mlir_ciface_{TURN}") if ordered else None
            except RuntimeError as error:
                raise LegatoError(f"LLVM could not compile it: {error}") from error
        if None in addresses.values() or 0 in addresses.values():
            raise LegatoError("LLVM could not compile it: a function that it calls is in no library")
        return {digest: NativeKernel(addresses[digest], engine, offsets[name], results[name], turn if name in ordered else None)
                for digest, name in request.kernels.items()}


def static_offset(type_: ir.Type) -> int | None:
    """The offset that code for a memref of that type assumes, without a look at the descriptor. None for a dynamic one, and for others."""
    if isinstance(type_, ir.RankedTensorType):
        return 0
    if not isinstance(type_, ir.MemRefType):
        return None
    offset = type_.get_strides_and_offset()[1]
    return None if offset == DYNAMIC else offset


def in_order(kernel: NativeKernel, order: int, request: CallRequest) -> CallAnswer:
    """The answer to a call that launches; ``order``: 1 for blocks and threads from the last to the first."""
    assert kernel.turn is not None
    chosen = ctypes.c_int64(order)
    table = (ctypes.c_void_p * 1)(ctypes.addressof(chosen))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(kernel.turn)(ctypes.addressof(table))
    return called(kernel, request)


def called(kernel: NativeKernel, request: CallRequest) -> CallAnswer:
    """Calls a kernel on copies of its operands, with guards around each allocation. Misbehaved if it has written there."""
    roots = [Root.holding(data) for data in request.roots]
    kept: list[Any] = []
    pointers: list[ctypes.c_void_p] = []
    returned = (ctypes.c_int64 * max(1, sum(3 + 2 * rank for _, rank in kernel.results)))()
    if kernel.results:
        kept.append(ctypes.c_void_p(ctypes.addressof(returned)))
        pointers.append(ctypes.c_void_p(ctypes.addressof(kept[-1])))
    if len(request.operands) != len(kernel.offsets):
        raise NotEvaluated(f"the kernel @{request.name} takes {len(kernel.offsets)} arguments, and main gives {len(request.operands)}")
    for value, offset in zip(request.operands, kernel.offsets):
        if isinstance(value, SentMemory):
            value = Memory(roots[value.root], value.dtype, value.offset, value.sizes, value.strides, value.base)
        elif offset is not None:
            raise NotEvaluated(f"main gives the kernel @{request.name} a number for a buffer")
        kept += argument(value, offset)
        pointers.append(ctypes.c_void_p(ctypes.addressof(kept[-1])))
    code = ctypes.c_int64(0)   # of kernels that return one
    pointers.append(ctypes.c_void_p(ctypes.addressof(code)))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(kernel.address)
    table = (ctypes.c_void_p * len(pointers))(*pointers)
    call(ctypes.addressof(table))
    for number, value in enumerate(request.operands):
        if isinstance(value, SentMemory) and not roots[value.root].is_intact():
            raise Misbehaved(f"the kernel @{request.name} has written outside of the buffer of its argument {number}")
    return CallAnswer([root.data for root in roots], returned_memory(returned, kernel.results, roots))


def argument(value: Any, static: int | None) -> list[Any]:
    """An argument of the C interface as ctypes objects; the last one is what the caller points to. ``static``: the offset that the code
    assumes, whatever the descriptor says."""
    if isinstance(value, Memory):
        offset = value.offset if static is None else static
        start = value.address + (value.offset - offset) * value.dtype.itemsize
        numbers = [start, start, offset, *value.sizes, *value.strides]
        words = (ctypes.c_int64 * len(numbers))(*numbers)
        return [words, ctypes.c_void_p(ctypes.addressof(words))]
    if isinstance(value, int):
        return [ctypes.c_int64(value)]
    return [ctypes.create_string_buffer(np.asarray(value).tobytes() + bytes(8))]


def returned_memory(words: Any, types: MemrefTypes, roots: Sequence[Root]) -> list[SentMemory | np.ndarray]:
    """The memrefs that descriptors describe: views of roots, or copies of what the kernel has allocated."""
    found, at = [], 0
    for dtype, rank in types:
        _, aligned, offset, *rest = words[at:at + 3 + 2 * rank]
        sizes, strides = tuple(rest[:rank]), tuple(rest[rank:])
        first = aligned + offset * dtype.itemsize
        root = next((n for n, one in enumerate(roots) if one.address <= first < one.address + max(one.data.size, 1)), None)
        if root is not None:
            found.append(SentMemory(root, dtype, offset, sizes, strides, aligned - roots[root].address))
        else:
            found.append(elements(aligned, dtype, offset, sizes, strides))
        at += 3 + 2 * rank
    return found


def elements(address: int, dtype: np.dtype, offset: int, sizes: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """A copy of strided elements at an address."""
    if 0 in sizes:
        return np.empty(sizes, dtype)
    count = offset + sum((n - 1) * s for n, s in zip(sizes, strides)) + 1
    flat = np.ctypeslib.as_array((ctypes.c_uint8 * (count * dtype.itemsize)).from_address(address))
    view = np.ndarray(tuple(sizes), dtype, flat, offset * dtype.itemsize, [s * dtype.itemsize for s in strides])
    return np.ascontiguousarray(view).copy().reshape(sizes)
