"""Makes a block's body straight-line code: conditions become selections; each element is read before it is written, once."""
from dataclasses import dataclass, field

from legato.analysis.indices.conditions import zeros
from legato.analysis.indices.linear import Linear
from legato.core.ir_helpers import body, everything, find, substitute, terminator
from legato.core.mlir import arith, ir, memref
from legato.dialects.tir.loops import REDUCE, BlockOp, before_end, constant_of, make_yield
from legato.passes.loops.raising.axes import AxisForms
from legato.passes.loops.raising.kept import Kept
from legato.passes.loops.raising.statements import PURE, described, shown

DIVISIONS = ("arith.divsi", "arith.divui", "arith.remsi", "arith.remui", "arith.floordivsi", "arith.ceildivsi", "arith.ceildivui")


@dataclass
class Guard:
    """A load is executed only where the condition holds (or does not)."""

    condition: ir.Value
    holds: bool


@dataclass
class Straight:
    """``guards``: of loads, by their results."""

    block: BlockOp
    indices: AxisForms
    guards: dict[ir.Value, list[Guard]] = field(default_factory=dict)


def straighten(block: BlockOp, indices: AxisForms) -> Straight:
    """Rewrites the block. Kept where it cannot be straight-line code."""
    made = Straight(block, indices)
    take_init(block, indices)
    for inside in (block.init_block, block.block):
        if inside is not None:
            made.indices = indices if inside == block.block else indices.renamed(list(inside.arguments))
            flatten(inside, [], made)
            forward(inside, made)
    return made


def take_init(block: BlockOp, indices: AxisForms) -> None:
    """Makes the block's init of ``if k == 0: C[i, j] = 0`` before all else, where ``k`` are all its reduce axes."""
    operations = [op for op in body(block.block) if op.name == "scf.if" or op.name == "memref.store"]
    if not operations or operations[0].name != "scf.if" or block.init_block is not None or operations[0].results:
        return
    test, arguments = operations[0], list(block.block.arguments)
    reduced = {a for a, kind in zip(arguments, block.kinds) if kind == REDUCE}
    tested = zeros(test.operands[0])
    if tested is None or not reduced or len(test.regions[1].blocks):
        return
    at_zero = {v for f in (indices.form(v) for v in tested) if (v := f.variable) is not None}
    if len(at_zero) != len(tested) or at_zero - reduced or {a for a in reduced if indices.extents[a] != 1} - at_zero:
        return
    stored = [s.operands[1] for s in find(test, "memref.store")]
    stores = [op for op in everything(block.operation) if op.name == "memref.store"]
    if any(load.operands[0] in stored for load in find(test, "memref.load")) or {s.operands[1] for s in stores} != set(stored):
        return
    before = [op for op in body(block.block) if op.is_before_in_block(test)]
    if any(op.name == "memref.load" and op.operands[0] in stored for op in before):
        return  # the value before the first step is read
    init = block.operation.regions[0].blocks.append(*[a.type for a in arguments])
    with ir.InsertionPoint(init):
        make_yield()
    mapping = dict(zip(arguments, init.arguments))
    with before_end(init):
        for op in [*before, *body(test.regions[0].blocks[0])]:
            new = op.clone()
            substitute(new, mapping)
            mapping |= dict(zip(op.results, new.results))
    test.erase()


def flatten(inside: ir.Block, guards: list[Guard], made: Straight) -> None:
    """Moves ops out of conditions, to the places before them."""
    for op in body(inside):
        if op.name == "scf.if":
            flatten_if(op, guards, made)
        elif op.name == "memref.load":
            made.guards[op.results[0]] = list(guards)
        elif op.name not in ("memref.store", "memref.dim") and (op.name.split(".")[0] not in PURE or len(op.regions)):
            raise Kept(f"{described(op)} stands in {shown(made.block)}")
        elif guards and op.name in DIVISIONS and constant_of(op.operands[1]) in (None, 0, -1):
            raise Kept(f"{shown(made.block)} divides under a condition")


def flatten_if(op: ir.Operation, guards: list[Guard], made: Straight) -> None:
    """Replaces one scf.if by its branches' ops, with selections of stored values and results."""
    condition = op.operands[0]
    branches = [region.blocks[0] if len(region.blocks) else None for region in op.regions]
    stores: list[list[ir.Operation]] = []
    for branch, holds in zip(branches, (True, False)):
        found: list[ir.Operation] = []
        if branch is not None:
            flatten(branch, [*guards, Guard(condition, holds)], made)
            for one in body(branch):
                if one.name == "memref.store":
                    found.append(one)
                elif one.name == "memref.load" and any(s.operands[1] == one.operands[0] for s in found):
                    raise Kept(f"{shown(made.block)} reads what it has written under a condition")
                one.move_before(op)
        stores.append(found)
    then, other = stores
    for store in then:
        twin = next((s for s in other if list(s.operands)[1:] == list(store.operands)[1:]), None)
        merge(op, condition, store, twin, made)
        if twin is not None:
            other.remove(twin)
            twin.erase()
    for store in other:
        merge(op, condition, None, store, made)
    for number, result in enumerate(op.results):
        a, b = (terminator(branch).operands[number] for branch in branches if branch is not None)
        with ir.InsertionPoint(op), op.location:
            result.replace_all_uses_with(arith.SelectOp(condition, a, b).result)
    op.erase()


def merge(op: ir.Operation, condition: ir.Value, then: ir.Operation | None, other: ir.Operation | None, made: Straight) -> None:
    """A store of a selection of two values; where a branch stores nothing, of the old value."""
    store = then or other
    assert store is not None
    buffer, *places = list(store.operands)[1:]
    if not all(made.indices.is_inside(made.indices.form(v), size) for v, size in zip(places, made.indices.sizes.shape(buffer))):
        raise Kept(f"{shown(made.block)} writes under a condition, to places that may be outside of the buffer without it")
    with ir.InsertionPoint(op), store.location:
        values = []
        for one in (then, other):
            if one is None:
                loaded = memref.LoadOp(buffer, places).result
                made.guards[loaded] = []
                values.append(loaded)
            else:
                values.append(one.operands[0])
        value = values[0] if values[0] == values[1] else arith.SelectOp(condition, *values).result
        memref.StoreOp(value, buffer, places)
    if then is not None:
        then.erase()
    if then is None and other is not None:
        other.erase()


def forward(inside: ir.Block, made: Straight) -> None:
    """Forwards stored values to later loads; of several stores to one element, keeps the last, at the end."""
    last: list[tuple[ir.Value, list[Linear], ir.Operation]] = []
    for op in body(inside):
        if op.name not in ("memref.store", "memref.load"):
            continue
        at = 1 if op.name == "memref.store" else 0
        buffer, forms = op.operands[at], [made.indices.form(v) for v in list(op.operands)[at + 1:]]
        known = [entry for entry in last if entry[0] == buffer]
        same = next((entry for entry in known if entry[1] == forms), None)
        if known and same is None:
            raise Kept(f"{shown(made.block)} reads or writes several elements of a buffer that it writes")
        if op.name == "memref.load" and same is not None:
            op.results[0].replace_all_uses_with(same[2].operands[0])
            op.erase()
        elif op.name == "memref.store":
            if same is not None:
                last.remove(same)
                same[2].erase()
            last.append((buffer, forms, op))
    for _, _, store in last:
        store.move_before(terminator(inside))


