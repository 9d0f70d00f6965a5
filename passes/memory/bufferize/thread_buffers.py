"""Buffers that the threads of kernels' parallel loops allocate for themselves: parts of one buffer, in which a thread's parts are the same
in all kernels. What another core wrote takes long to be written again: its cache has to give it up first."""
from __future__ import annotations

from legato.core.ir_helpers import ancestors
from legato.core.mlir import arith, func, ir, memref
from legato.core.vector_loops import THREADS
from legato.dialects.tir.loops import constant_of

ALIGNMENT = 64      # bytes, of a buffer
PAGE = 4096         # bytes, of which a thread's part is a multiple


class ThreadBuffers:
    """The buffers of threads, in all kernels of a module. Each kernel is given one buffer, of ``type``, for all."""

    def __init__(self) -> None:
        self._taken: dict[ir.Operation, list[tuple[ir.Operation, int, int]]] = {}   # by kernel, with where each begins and ends
        self._bytes = self._threads = 0
        self._made: dict[ir.Operation, ir.Value] = {}       # by the function that calls

    def take(self, kernel: func.FuncOp, op: ir.Operation, size: int, home: ir.Block) -> bool:
        """Takes an allocation of so many bytes in a block of a kernel, if that is what the threads of a loop run."""
        threads = _threads_of(home.owner.operation)
        if threads is None:
            return False
        taken = self._taken.setdefault(kernel.operation, [])
        begin = _aligned(taken[-1][2], ALIGNMENT) if taken else 0
        taken.append((op, begin, begin + size))
        self._bytes, self._threads = max(self._bytes, begin + size), max(self._threads, threads)
        return True

    def has(self, kernel: func.FuncOp) -> bool:
        """Whether a kernel has such buffers."""
        return kernel.operation in self._taken

    @property
    def type(self) -> ir.MemRefType:
        """Of the buffer for all threads, when all kernels' are taken."""
        return ir.MemRefType.get([self._threads * self._each], ir.IntegerType.get_signless(8))

    @property
    def _each(self) -> int:
        """The bytes of a thread."""
        return _aligned(self._bytes, PAGE)

    def give(self, kernel: func.FuncOp, buffer: ir.Value) -> None:
        """Makes parts of a buffer of the kernel's allocations."""
        index = ir.IndexType.get()
        for op, begin, _ in self._taken[kernel.operation]:
            loop = next(one for one in ancestors(op) if one.name == "scf.parallel")
            with ir.InsertionPoint(op), op.location:
                each, first = (arith.ConstantOp(index, number).result for number in (self._each, begin))
                place = arith.addi(arith.muli(loop.regions[0].blocks[0].arguments[0], each), first)
                view = memref.ViewOp(op.results[0].type, buffer, place, [])
            op.results[0].replace_all_uses_with(view.result)
            op.erase()

    def buffer(self, call: ir.Operation) -> ir.Value:
        """The buffer for a call of a kernel, which the calling function allocates."""
        function = next(one for one in ancestors(call) if one.name == "func.func")
        if function not in self._made:
            with ir.InsertionPoint.at_block_begin(function.regions[0].blocks[0]), function.location:
                self._made[function] = memref.AllocOp(self.type, [], [], alignment=ALIGNMENT).memref
        return self._made[function]


def _aligned(size: int, to: int) -> int:
    return -(-size // to) * to


def _threads_of(loop: ir.Operation) -> int | None:
    """The threads that run the steps of a parallel loop, one each; None where it is not such a loop."""
    return constant_of(loop.operands[1]) if loop.name == "scf.parallel" and THREADS in loop.attributes else None
