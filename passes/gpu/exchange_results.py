"""tir-exchange-results: threads of a warp exchange results of 16 bits, so that each writes 16 bytes that lie together (NVIDIA's sm_90a).

Upstream has no such pass: ``transform.nvgpu`` stores fragments as the instruction leaves them.
"""
from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from legato.analysis.indices.forms import linear
from legato.analysis.indices.linear import Linear
from legato.core.ir_helpers import ancestors, body, find, index, next_op
from legato.core.mlir import arith, ir, scf, vector
from legato.dialects.module import Module
from legato.dialects.tir.loops import constant_of
from legato.dialects.tir.markers import TENSOR_MAPS
from legato.passes.pipeline.base import ModulePass, PassContext

QUAD, PAIR, BITS = 4, 2, 16
TOGETHER = QUAD * PAIR         # elements: 16 bytes
STORES = ("vector.store", "memref.store")
PURE = ("arith.", "math.", "vector.", "memref.load", "memref.dim", "memref.extract", "affine.", "gpu.thread_id", "gpu.block_id")
BELOW = (2, 6)                 # predicates of arith.cmpi: slt, ult


@dataclass(frozen=True)
class ExchangeResults(ModulePass):
    """Rewrites kernels with tensor maps in which a thread stores pairs of 16 bits, 8 columns apart, as products of warpgroups leave them:
    four threads, neighbours along x, have four such pairs of eight columns each. They exchange them by shuffles, and each stores the
    eight columns of one. Under conditions, values are computed under them, exchanged by all threads, and stored under them."""

    name: ClassVar[str] = "tir-exchange-results"

    def run(self, module: Module, context: PassContext) -> None:
        with module.context, ir.Location.unknown():
            for kernel in find(module.operation, "gpu.func"):
                size = list(kernel.attributes["known_block_size"]) if "known_block_size" in kernel.attributes else []
                if TENSOR_MAPS in kernel.attributes and size[:2] == [QUAD, 32 // QUAD]:
                    for block in dict.fromkeys(op.block for op in results(kernel)):
                        exchange(block)


@dataclass(frozen=True)
class Result:
    """A pair that a thread stores. ``op``: the store, or the condition that has it as its last op. ``row``: what all pairs of a row share;
    ``column``: the constant part of the pair's place."""

    op: ir.Operation
    store: ir.Operation
    row: Hashable
    column: int

    @property
    def test(self) -> ir.Value | None:
        """The condition under which it is stored."""
        return None if self.op == self.store else self.op.operands[0]


def results(kernel: ir.Operation) -> list[ir.Operation]:
    """The stores of pairs where whole warps are, and conditions around one each."""
    stores = [op for op in find(kernel, "vector.store") if is_pair(op)]
    found = [op if op.parent.operation.name != "scf.if" or is_uniform(op.parent.operation) else op.parent.operation for op in stores]
    return [op for op in found if all(map(is_uniform, ancestors(op)[1 if op in ancestors(op) else 0:]))]


def is_pair(store: ir.Operation) -> bool:
    """Whether an op stores two neighbours of 16 bits where whole 16 bytes of a row are aligned."""
    value, buffer = list(store.operands)[:2]
    if value.type.shape != [PAIR] or value.type.element_type.width != BITS:
        return False
    type_ = buffer.type
    return isinstance(buffer.owner, ir.Block) and type_.rank > 0 and type_.shape[-1] > 0 and type_.shape[-1] % TOGETHER == 0 and (
        ir.MemRefType.get(type_.shape, type_.element_type) == type_)


def is_uniform(op: ir.Operation) -> bool:
    """Whether all threads of a warp go into the regions of an op together, as often."""
    if op.name == "scf.if":
        return not depends(op.operands[0], "xy")
    if op.name == "scf.for":
        return not any(depends(value, "xy") for value in list(op.operands)[:3])
    return op.name in ("gpu.func", "gpu.module", "builtin.module")


def depends(value: ir.Value, axes: str) -> bool:
    """Whether a value may depend on a thread's number along these axes."""
    if isinstance(value.owner, ir.Block):
        owner = value.owner.owner
        return owner.operation.name != "gpu.func" and not (owner.operation.name == "scf.for" and is_uniform(owner.operation))
    op = value.owner.operation
    if op.name == "gpu.thread_id":
        return any(f"dim {axis}>" in str(op.attributes["dimension"]) for axis in axes)
    known = op.name.startswith(("arith.", "gpu.block_id", "gpu.grid_dim", "gpu.thread_id", "memref.dim"))
    return not known or any(depends(one, axes) for one in op.operands)


def exchange(block: ir.Block) -> None:
    """Rewrites what is stored in one block, in the order in which it is stored: nothing but results is written in between."""
    found: dict[Hashable, list[Result]] = {}
    for op in body(block):
        one = result_of(op)
        if one is not None:
            group = found.setdefault(one.row, [])
            if group and one.column != group[-1].column + TOGETHER:
                group.clear()
            group.append(one)
            if len(group) == QUAD:
                Exchange(group).rewrite()
                group.clear()
        elif not op.name.startswith(PURE):
            found.clear()


def result_of(op: ir.Operation) -> Result | None:
    """The result that an op stores."""
    store = op
    if op.name == "scf.if":
        inner = body(op.regions[0].blocks[0])
        if list(op.results) or len(list(op.regions[1].blocks)) or not inner or is_uniform(op):
            return None
        store = inner[-1]
        if any(not one.name.startswith(PURE) or one.name in STORES or len(one.regions) for one in inner[:-1]):
            return None
    if store.name != "vector.store" or not is_pair(store):
        return None
    _, buffer, *places = store.operands
    column, x = linear(places[-1]), thread(places[-1])
    rows = [linear(one) for one in places[:-1]]
    if x is None or column.terms.get(x) != PAIR or any(thread(one) is not None for one in places[:-1]):
        return None
    if any(factor % TOGETHER for term, factor in column.terms.items() if term != x) or column.constant % TOGETHER:
        return None
    if op != store and not all(is_test(part, column, x) for part in parts(op.operands[0])):
        return None
    key = buffer, op == store, tuple(map(key_of, rows)), frozenset(column.terms.items())
    return Result(op, store, key, column.constant)


def key_of(form: Linear) -> Hashable:
    """A form as a key."""
    return frozenset(form.terms.items()), form.constant


def thread(value: ir.Value) -> ir.Value | None:
    """The thread's number along x, if an index is linear in it; the index itself where it is not."""
    found = [term for term in linear(value).terms if not isinstance(term, ir.Value) or depends(term, "x")]
    if not found:
        return None
    one = found[0]
    is_thread = isinstance(one, ir.Value) and not isinstance(one.owner, ir.Block) and one.owner.operation.name == "gpu.thread_id"
    return one if isinstance(one, ir.Value) and is_thread and len(found) == 1 else value


def parts(test: ir.Value) -> list[ir.Value]:
    """The conditions that hold together."""
    op = None if isinstance(test.owner, ir.Block) else test.owner.operation
    return [part for one in op.operands for part in parts(one)] if op is not None and op.name == "arith.andi" else [test]


def is_test(test: ir.Value, column: Linear, x: ir.Value) -> bool:
    """Whether a condition is the same for a pair and for the 16 bytes that it is a part of: it does not depend on the thread's number along
    x, or says that the column is below a multiple of eight."""
    if not depends(test, "x"):
        return True
    op = test.owner.operation
    if op.name != "arith.cmpi" or op.attributes["predicate"].value not in BELOW:
        return False
    bound = constant_of(op.operands[1])
    form = linear(op.operands[0])
    same = x in form.terms and (form.terms, form.constant) == (column.terms, column.constant)
    return same and bound is not None and bound % TOGETHER == 0


class Exchange:
    """Four pairs of a thread's row, 8 columns apart, which four threads exchange."""

    def __init__(self, pairs: Sequence[Result]) -> None:
        self.pairs = pairs

    def rewrite(self) -> None:
        """Stores 16 bytes behind the last pair, in the place of all."""
        first, last = self.pairs[0], self.pairs[-1]
        values = [self.value(one) for one in self.pairs]
        following = next_op(last.op)
        _, buffer, *places = first.store.operands
        with ir.InsertionPoint(following), last.op.location:
            x = thread(places[-1])
            assert x is not None
            odd, upper = (arith.CmpIOp(arith.CmpIPredicate.ne, arith.AndIOp(x, index(bit)).result, index(0)).result for bit in (1, 2))
            whole = swapped(values, (odd, upper), first.store.operands[0].type.element_type)
            rows, column = [self.again(one, first) for one in places[:-1]], self.again(places[-1], first)
            own = arith.AddIOp(column, arith.MulIOp(x, index(TOGETHER - PAIR)).result).result
            tests = [one.test for one in self.pairs if one.test is not None]
            if tests:
                low, high = (arith.SelectOp(odd, tests[n + 1], tests[n]).result for n in (0, 2))
                made = scf.IfOp(arith.SelectOp(upper, high, low).result)
                with ir.InsertionPoint(made.then_block):
                    put(whole, buffer, [*rows, own])
                    scf.YieldOp([])
            else:
                put(whole, buffer, [*rows, own])
        for one in self.pairs:
            one.op.erase()

    def value(self, one: Result) -> ir.Value:
        """The pair's value, where all threads have one; 0 where its condition does not hold."""
        if one.test is None:
            return one.store.operands[0]
        with ir.InsertionPoint(one.op), one.op.location:
            type_ = one.store.operands[0].type
            made = scf.IfOp(one.test, [type_], has_else=True)
            with ir.InsertionPoint(made.else_block):
                zero = ir.DenseElementsAttr.get_splat(type_, ir.FloatAttr.get(type_.element_type, 0.0) if isinstance(
                    type_.element_type, ir.FloatType) else ir.IntegerAttr.get(type_.element_type, 0))
                scf.YieldOp([arith.ConstantOp(type_, zero).result])
            mapping: dict[ir.Value, ir.Value] = {}
            with ir.InsertionPoint(made.then_block):
                for op in body(one.op.regions[0].blocks[0])[:-1]:
                    new = op.clone()
                    for number, operand in enumerate(op.operands):
                        new.operands[number] = mapping.get(operand, operand)
                    mapping.update(zip(op.results, new.results))
                scf.YieldOp([mapping.get(one.store.operands[0], one.store.operands[0])])
        return made.results[0]

    def again(self, value: ir.Value, one: Result) -> ir.Value:
        """An index, computed again where it is one of a condition's block."""
        if isinstance(value.owner, ir.Block) or value.owner.operation.block == one.op.block or (
                one.op == one.store) or value.owner.operation.parent.operation != one.op:
            return value
        op = value.owner.operation
        operands = [self.again(operand, one) for operand in op.operands]
        new = op.clone()
        for number, operand in enumerate(operands):
            new.operands[number] = operand
        return new.results[list(op.results).index(value)]


def swapped(pairs: Sequence[ir.Value], bits: Sequence[ir.Value], element: ir.Type) -> ir.Value:
    """Of a thread, whose number in its quad has these bits, the pairs that all four have in its place, from the first one's on."""
    i32 = ir.IntegerType.get_signless(32)
    words = [vector.ExtractOp(vector.BitCastOp(ir.VectorType.get([1], i32), one).result, [], [0]).result for one in pairs]
    for distance, bit in zip((1, 2), bits):
        for low in (n for n in range(QUAD) if not n & distance):
            high = low | distance
            sent = arith.SelectOp(bit, words[low], words[high]).result
            numbers = [arith.ConstantOp(i32, number).result for number in (distance, 32)]
            got = ir.Operation.create("gpu.shuffle", [i32, ir.IntegerType.get_signless(1)], [sent, *numbers], {
                "mode": ir.Attribute.parse("#gpu<shuffle_mode xor>")}).results[0]
            words[low], words[high] = arith.SelectOp(bit, got, words[low]).result, arith.SelectOp(bit, words[high], got).result
    together = vector.FromElementsOp(ir.VectorType.get([QUAD], i32), words).result
    return vector.BitCastOp(ir.VectorType.get([TOGETHER], element), together).result


def put(value: ir.Value, buffer: ir.Value, places: Sequence[ir.Value]) -> None:
    """Stores 16 bytes, which are aligned."""
    ir.Operation.create("vector.store", [], [value, buffer, *places], {
        "alignment": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 16)})
