"""Kernels as native code, by a lowering that knows nothing of schedules, targets and memory plans (``kernel_lowering``).

A kernel is compiled alone, at LLVM's lowest optimization level, and called in a child process on copies of its operands, with guards around
them. One that has not changed is neither compiled nor, for inputs that it has seen, run again.
"""
from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from legato.checking.buffers import Memory, Root
from legato.checking.child import ChildDied, ForkedChild
from legato.checking.errors import Misbehaved, NotEvaluated
from legato.checking.kernel_process import CallAnswer, CallRequest, CompileRequest, KernelProcess, SentMemory
from legato.core.errors import LegatoError
from legato.core.ir_helpers import everything
from legato.core.mlir import ir
from legato.dialects import tir
from legato.dialects.module import Module
from legato.passes.pipeline.base import PassContext

MOST_KEPT = 1 << 30   # bytes of results
ALIGNED = 64          # bytes: what is sent of an allocation begins at a multiple


@dataclass
class CompiledKernels:
    """What is kept over all states of a check: for the digest of each kernel's text the request that compiles it, or why that fails;
    the child that has compiled some of them; results of kernels by the digest of their operands."""

    kernels: dict[bytes, CompileRequest | LegatoError] = field(default_factory=dict)
    results: dict[tuple[bytes, bytes], list[np.ndarray]] = field(default_factory=dict)
    bytes_kept: int = 0
    child: ForkedChild | None = None
    in_child: set[bytes] = field(default_factory=set)


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
                for attribute in ("callee", "name", "global_name", "kernel"):
                    named = op.attributes[attribute] if attribute in op.attributes else None
                    symbol = ir.SymbolRefAttr(named).value[0] if isinstance(named, ir.SymbolRefAttr | ir.FlatSymbolRefAttr) else None
                    if symbol in self.symbols and symbol not in found:
                        found.append(symbol)
                        queue.append(symbol)
        return found

    def call(self, name: str, operands: Sequence[Any]) -> list[Any]:
        """Calls a kernel on arrays or memory. Returns arrays for the results that it returns; memory is written. NotEvaluated if it cannot
        be compiled, Misbehaved if it has written outside of its buffers, crashed or not ended."""
        request = self._kernel(name)
        memories = [one for one in operands if isinstance(one, Memory)]
        returns = len(self.functions[name].type.results) > 0
        key = (self.digest(name), digest_of(operands)) if not (overlapping(memories) or (memories and returns)) else None
        known = self.kept.results.get(key) if key is not None else None
        if known is not None:
            return self._replay(known, memories)
        results = self._run(name, request, operands)
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

    def _run(self, name: str, compiles: CompileRequest, operands: Sequence[Any]) -> list[Any]:
        tensors = [isinstance(type_, ir.RankedTensorType) for type_ in self.functions[name].type.inputs]
        given = [Memory.holding(np.asarray(one)) if tensor else one for one, tensor in zip(operands, tensors, strict=True)]
        sent = SentOperands(given)
        digest = self.digest(name)
        if digest not in self.kept.in_child:   # the one that has compiled it has died since
            self._send(compiles, f"the kernel @{name}")
        answer = self._send(CallRequest(digest, name, sent.bytes(), sent.operands), f"the kernel @{name}")
        assert isinstance(answer, CallAnswer)
        sent.write(answer.roots)
        made = [sent.received(one) for one in answer.results]
        return made if any(isinstance(one, Memory) for one in operands) else [one.array().copy() for one in made]

    def _kernel(self, name: str) -> CompileRequest:
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
        if len(missing) > 1:
            try:
                self._compile(missing)
                return
            except LegatoError:
                pass
        for digest, name in missing.items():
            try:
                self._compile({digest: name})
            except LegatoError as error:
                self.kept.kernels[digest] = error

    def _compile(self, wanted: dict[bytes, str]) -> None:
        """Lets the child compile kernels, by digest. Raises LegatoError."""
        with self.module.context, ir.Location.unknown():
            copy = ir.Module.create()
            copy.operation.attributes["gpu.container_module"] = ir.UnitAttr.get()   # where launches may stand
            for symbol in dict.fromkeys(s for name in wanted.values() for s in self._closure(name)):
                copy.body.append(self.symbols[symbol].clone(ip=False))
            request = CompileRequest(copy.operation.get_asm(print_generic_op_form=True, assume_verified=True), wanted)
        self._send(request, "LLVM")
        self.kept.kernels |= dict.fromkeys(wanted, request)

    def _send(self, request: CompileRequest | CallRequest, what: str) -> CallAnswer | None:
        """The child's answer. Raises what it raises, and Misbehaved if it dies."""
        kept = self.kept
        if kept.child is None:
            kept.child, kept.in_child = ForkedChild(KernelProcess(self.module.context, self.context, self.target)), set()
        try:
            answer = kept.child(request)
        except ChildDied as problem:
            kept.child, kept.in_child = None, set()
            raise Misbehaved(f"{what} does not end as it should: {problem}") from None
        if isinstance(request, CompileRequest):
            kept.in_child |= set(request.kernels)
        return answer


class SentOperands:
    """Operands of a call as they are sent: of each allocation the bytes from the first to the last that an operand covers."""

    def __init__(self, given: Sequence[Any]):
        memories = [one for one in given if isinstance(one, Memory)]
        self.roots: list[Root] = list(dict.fromkeys(one.root for one in memories))
        spans = [[one.span() for one in memories if one.root is root and 0 not in one.sizes] for root in self.roots]
        self.spans = [(min(a for a, _ in of) // ALIGNED * ALIGNED, max(b for _, b in of)) if of else (0, 0) for of in spans]
        self.operands = [self._sent(one) if isinstance(one, Memory) else one for one in given]

    def bytes(self) -> list[np.ndarray]:
        """What is sent of each allocation. Misbehaved if an operand leaves it."""
        for root, (start, stop) in zip(self.roots, self.spans):
            if start < 0 or stop > root.data.size:
                raise Misbehaved(f"an operand covers the bytes {start} to {stop} of a buffer of {root.data.size} bytes")
        return [root.data[start:stop] for root, (start, stop) in zip(self.roots, self.spans)]

    def _sent(self, memory: Memory) -> SentMemory:
        number = self.roots.index(memory.root)
        base = memory.base - self.spans[number][0]
        return SentMemory(number, memory.dtype, memory.offset, memory.sizes, memory.strides, base)

    def write(self, roots: Sequence[np.ndarray]) -> None:
        """Takes over what the call has written."""
        for root, (start, stop), data in zip(self.roots, self.spans, roots, strict=True):
            root.data[start:stop] = data

    def received(self, one: SentMemory | np.ndarray) -> Memory:
        """A memref that the call returned."""
        if not isinstance(one, SentMemory):
            return Memory.holding(one)
        return Memory(self.roots[one.root], one.dtype, one.offset, one.sizes, one.strides, one.base + self.spans[one.root][0])


def _symbol(op: ir.Operation) -> str | None:
    return ir.StringAttr(op.attributes["sym_name"]).value if "sym_name" in op.attributes else None


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
    spans = sorted((one.root.address + start, one.root.address + stop) for one in memories if 0 not in one.sizes
                   for start, stop in [one.span()])
    return any(a[1] > b[0] for a, b in pairwise(spans))
