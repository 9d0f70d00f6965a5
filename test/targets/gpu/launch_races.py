"""Proofs that the threads of a block do not race: between two barriers no thread writes what another one reads or writes.

Works on ``gpu.launch`` as tir-lower-threads leaves it. For each two accesses that may happen between the same barriers, z3 looks for two
different threads, and steps of the loops around, for which both are reached and meet in one element.
"""
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import z3
from theorems import Meaning, NotModelledError, UndecidedError, counterexample

from legato.core.ir_helpers import body, everything, find
from legato.core.mlir import ir
from legato.dialects.tir.loops import constant_of

MATRIX = "nvgpu.ldmatrix"     # each thread's place is that of a row of 16 bytes
LOADS, STORES = ("memref.load", "vector.load", MATRIX), ("memref.store", "vector.store")
LOOPS = ("scf.for", "tir.for")
VIEWS = ("memref.subview", "memref.cast", "memref.collapse_shape", "memref.expand_shape", "memref.reinterpret_cast")
FRESH = count()


@dataclass(eq=False)
class Access:
    """A load or store of an element, or of a vector of neighbours.

    ``path``: the loops and conditions around it, outermost first, with the number of the region.
    """

    op: ir.Operation
    writes: bool
    path: list[tuple[ir.Operation, int]]

    @property
    def buffer(self) -> ir.Value:
        """What is accessed."""
        return self.op.operands[int(self.writes)]

    @property
    def lanes(self) -> int:
        """The number of elements, along the last dimension."""
        type_ = (self.op.operands[0] if self.writes else self.op.results[0]).type
        if self.op.name == MATRIX:
            return 128 // type_.element_type.width
        return type_.shape[0] if isinstance(type_, ir.VectorType) else 1

    @property
    def indices(self) -> list[ir.Value]:
        """The place of the first element."""
        return list(self.op.operands)[1 + int(self.writes):]


@dataclass
class Pair:
    """Two accesses that may happen between the same barriers. ``shared``: loops in whose same step both are; ``carried``: one in a later
    step of which the second access is, in the next one where ``next_only``."""

    first: Access
    second: Access
    shared: list[ir.Operation]
    carried: ir.Operation | None = None
    next_only: bool = False


@dataclass
class Stretch:
    """A piece of code: accesses before its first barrier, those after its last, and whether there certainly is one."""

    head: list[Access] = field(default_factory=list)
    tail: list[Access] = field(default_factory=list)
    barrier: bool = False


@dataclass
class Verdict:
    """What was found: pairs that were proved apart; races, as text; pairs of which nothing is known, with the reason."""

    proved: int = 0
    races: list[str] = field(default_factory=list)
    undecided: list[str] = field(default_factory=list)


def check_launch(launch: ir.Operation) -> Verdict:
    """Looks for races in one launch."""
    pairs: list[Pair] = []
    _sequence(launch.regions[0].blocks[0], [], pairs)
    verdict = Verdict(undecided=_not_modelled(launch))
    for pair in pairs:
        if (pair.first.writes or pair.second.writes) and pair.first.buffer == pair.second.buffer and _is_common(pair.first.buffer, launch):
            _decide(pair, launch, verdict)
    return verdict


def _not_modelled(launch: ir.Operation) -> list[str]:
    """The accesses of a launch that are not loads and stores of elements, or not of whole buffers."""
    found = []
    for op in everything(launch):
        buffers = [v for v in op.operands if isinstance(v.type, ir.MemRefType)]
        if op == launch or not buffers or op.name == "memref.dim":
            continue
        part = next((v for v in buffers if not isinstance(v.owner, ir.Block) and v.owner.operation.name in VIEWS), None)
        if op.name not in (*LOADS, *STORES) or part is not None:
            found.append(f"{op}: not modelled")
    return found


def launches(module: ir.Module) -> list[ir.Operation]:
    """All launches of a module."""
    return find(module.operation, "gpu.launch")


def _is_common(buffer: ir.Value, launch: ir.Operation) -> bool:
    """Whether the threads of a block share a buffer: a thread's own is allocated inside of the launch, or private."""
    if isinstance(buffer.owner, ir.Block):
        return "private" not in str(buffer.type.memory_space)
    return buffer.owner.operation.name not in ("memref.alloca",)


def _sequence(block: ir.Block, path: list[tuple[ir.Operation, int]], pairs: list[Pair]) -> Stretch:
    whole = Stretch()
    loops = [op for op, _ in path if op.name in LOOPS]
    for op in body(block):
        one = _statement(op, path, pairs)
        pairs += [Pair(a, b, loops) for a in whole.tail for b in one.head]
        if not whole.barrier:
            whole.head += one.head
        whole.tail = list(one.tail) if one.barrier else [*whole.tail, *one.tail]
        whole.barrier = whole.barrier or one.barrier
    return whole


def _statement(op: ir.Operation, path: list[tuple[ir.Operation, int]], pairs: list[Pair]) -> Stretch:
    loops = [one for one, _ in path if one.name in LOOPS]
    if op.name == "gpu.barrier":
        return Stretch(barrier=True)
    if op.name in (*LOADS, *STORES):
        access = Access(op, op.name in STORES, path)
        if access.writes:
            pairs.append(Pair(access, access, loops))
        return Stretch([access], [access])
    parts = [_sequence(region.blocks[0], [*path, (op, number)], pairs) for number, region in enumerate(op.regions) if len(region.blocks)]
    whole = Stretch([a for p in parts for a in p.head], [a for p in parts for a in p.tail],
                    len(parts) == len(op.regions) > 0 and all(p.barrier for p in parts))
    if op.name in LOOPS:
        pairs += [Pair(a, b, loops, op, whole.barrier) for a in whole.tail for b in whole.head]
        low, high = (constant_of(op.operands[n]) for n in (0, 1))
        whole.barrier = whole.barrier and low is not None and high is not None and low < high
    elif len(parts) == 2:
        pairs += [Pair(a, b, loops) for a in parts[0].head for b in parts[1].head]
    return whole


class _Side(Meaning):
    """What values are for one thread: ``outer``, those that are the same for both, of what stands outside of the launch."""

    def __init__(self, known: dict[ir.Value, Any], outer: dict[ir.Value, Any], launch: ir.Operation) -> None:
        super().__init__(known)
        self.outer, self.launch, self.guessed = outer, launch, []

    def of(self, value: ir.Value) -> Any:
        if value in self.terms:
            return self.terms[value]
        try:
            if isinstance(value.owner, ir.Block) or not value.owner.operation.name.startswith(("arith.", "affine.")):
                raise NotModelledError(str(value.owner))
            return super().of(value)
        except (NotModelledError, KeyError):
            self.terms[value] = self._unknown(value)
            self.defined[value] = []
            return self.terms[value]

    def _unknown(self, value: ir.Value) -> Any:
        if not _inside(value, self.launch):
            return self.outer.setdefault(value, z3.Int(f"outer{next(FRESH)}"))
        self.guessed.append(value)
        return z3.Int(f"unknown{next(FRESH)}")


def _inside(value: ir.Value, launch: ir.Operation) -> bool:
    op = value.owner.owner.operation if isinstance(value.owner, ir.Block) else value.owner.operation.parent.operation
    while op is not None and op.name != "builtin.module":
        if op == launch:
            return True
        op = None if op.parent is None else op.parent.operation
    return False


def _decide(pair: Pair, launch: ir.Operation, verdict: Verdict) -> None:
    """Adds what is found of one pair to a verdict."""
    arguments, outer = list(launch.regions[0].blocks[0].arguments), {}
    common: dict[ir.Value, Any] = {a: z3.Int(f"b{n}") for n, a in enumerate(arguments[:3])}
    assumed: list[Any] = []
    for n, operand in enumerate(_sizes(launch)):
        extent = constant_of(operand)
        common[arguments[6 + n]] = z3.IntVal(extent) if extent is not None else outer.setdefault(operand, z3.Int(f"extent{n}"))
    sides = []
    for name in "st":
        threads = {a: z3.Int(f"{name}{n}") for n, a in enumerate(arguments[3:6])}
        sides.append(_Side({**common, **threads}, outer, launch))
        for n, a in enumerate(arguments[3:6]):
            assumed += [threads[a] >= 0, threads[a] < common[arguments[9 + n]]]
    assumed += [bound for n in range(3) for bound in (common[arguments[n]] >= 0, common[arguments[n]] < common[arguments[6 + n]])]
    assumed.append(z3.Or(*(sides[0].terms[a] != sides[1].terms[a] for a in arguments[3:6])))
    for side, access, name in zip(sides, (pair.first, pair.second), "st"):
        assumed += _reached(side, access, pair.shared, name)
    if pair.carried is not None:
        step = _step(pair.carried, sides[0])
        early, late = (side.terms[pair.carried.regions[0].blocks[0].arguments[0]] for side in sides)
        assumed.append(late == early + step if pair.next_only else late > early)
    apart = [side.of(i) for side, access in zip(sides, (pair.first, pair.second)) for i in access.indices]
    half = len(apart) // 2
    first, second = apart[:half], apart[half:]
    same = z3.And(True, *(a == b for a, b in zip(first[:-1], second[:-1])))
    if first:
        same = z3.And(same, first[-1] < second[-1] + pair.second.lanes, second[-1] < first[-1] + pair.first.lanes)
    about = f"{pair.first.op} and {pair.second.op}" + (" in different steps of a loop" if pair.carried is not None else "")
    assumed += [one for side in sides for facts in side.defined.values() for one in facts]
    apart_or_equal = z3.Or(z3.Not(same), _one_value(pair, sides, launch))
    try:
        found = counterexample(apart_or_equal, *assumed)
    except UndecidedError:
        verdict.undecided.append(f"{about}: z3 gives up")
        return
    if found is None:
        verdict.proved += 1
    elif any(side.guessed for side in sides):
        verdict.undecided.append(f"{about}: depends on {', '.join(str(v.owner) for side in sides for v in side.guessed[:2])}")
    else:
        verdict.races.append(f"{about} meet for {found}")


def _one_value(pair: Pair, sides: Sequence[_Side], launch: ir.Operation) -> Any:
    """That both threads write one number: they compute it alike, from elements that nobody writes in this launch."""
    if max(pair.first.lanes, pair.second.lanes) > 1:
        return z3.BoolVal(False)
    written = [store.operands[1] for store in find(launch, *STORES)]

    def equal(value: ir.Value) -> Any:
        if constant_of(value) is not None or not _inside(value, launch):
            return z3.BoolVal(True)
        if isinstance(value.owner, ir.Block):
            return sides[0].of(value) == sides[1].of(value)
        op = value.owner.operation
        if op.name == "memref.load" and op.operands[0] not in written:
            return z3.And(True, *(sides[0].of(i) == sides[1].of(i) for i in list(op.operands)[1:]))
        if op.name.startswith(("arith.", "math.")):
            return z3.And(True, *map(equal, op.operands))
        return z3.BoolVal(False)

    return equal(pair.first.op.operands[0]) if pair.first is pair.second else z3.BoolVal(False)


def _sizes(launch: ir.Operation) -> list[ir.Value]:
    """The numbers of blocks and of threads."""
    view = launch.opview
    return [view.gridSizeX, view.gridSizeY, view.gridSizeZ, view.blockSizeX, view.blockSizeY, view.blockSizeZ]


def _reached(side: _Side, access: Access, shared: Sequence[ir.Operation], name: str) -> list[Any]:
    """The steps of loops in which an access is, and the conditions around it."""
    found = []
    for number, (op, region) in enumerate(access.path):
        if op.name in LOOPS:
            variable = op.regions[0].blocks[0].arguments[0]
            side.terms[variable] = z3.Int(f"k{number}" if op in shared else f"{name}k{number}")
            side.defined[variable] = []
            low, high, step = side.of(op.operands[0]), side.of(op.operands[1]), _step(op, side)
            found += [side.terms[variable] >= low, side.terms[variable] < high, (side.terms[variable] - low) % step == 0]
        elif op.name == "scf.if":
            found.append(side.of(op.operands[0]) == (1 if region == 0 else 0))
    return found


def _step(loop: ir.Operation, side: _Side) -> Any:
    return side.of(loop.operands[2]) if loop.name == "scf.for" else z3.IntVal(1)
