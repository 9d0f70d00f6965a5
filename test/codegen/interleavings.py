"""Runs native functions on shared memory in all orders of their steps, up to a number of preemptions.

The functions are those of codegen/entry/pool.py itself: their source becomes Python generators that stop before each access of shared
memory, and a scheduler chooses which thread goes on. All their atomic operations are sequentially consistent; so if no order of steps has a
data race on other accesses, which clocks of each thread show, these orders are all that a machine can do.
"""
import ast
import inspect
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

Thread = Generator[tuple[Any, ...], Any, Any]
SHARED = {"add_at": "add", "swap_at": "swap", "value_at": "load", "run_part": "part", "pause": "pause", "sched_yield": "pause",
          "clock": "clock", "syscall": "futex", "getpid": "pid", "pthread_create": "create", "pthread_join": "join",
          "pthread_sigmask": "pid", "stack": "stack", "store_float_mode": "store_mode", "use_float_mode": "use_mode"}


class WrongOrderError(AssertionError):
    """An order of steps with a wrong outcome."""


class _Rewriter(ast.NodeTransformer):
    """Replaces each access of shared memory by a ``yield``, and each call of a function of the module by ``yield from``."""

    def __init__(self, module: ModuleType, functions: set[str]) -> None:
        self.module, self.functions = module, functions

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = ast.unparse(node.func)
        if name == "address":
            return self._place(node.args[0])
        if name in ("Words", "code_of"):
            return ast.Constant(0) if name == "Words" else ast.Constant(ast.unparse(node.args[0]))
        arguments = [self.visit(a) for a in node.args]
        if name in self.functions:
            return ast.YieldFrom(ast.Call(node.func, arguments, []))
        if name in SHARED:
            return ast.Yield(ast.Tuple([ast.Constant(SHARED[name]), *arguments], ast.Load()))
        return ast.Call(node.func, arguments, [])

    def _place(self, node: ast.expr) -> ast.expr:
        """The name of a place in memory: of a field, or of an element of one."""
        if isinstance(node, ast.Subscript):
            return ast.JoinedStr([ast.Constant(ast.unparse(node.value).rpartition(".")[2]), ast.FormattedValue(self.visit(node.slice), -1)])
        return ast.Constant(ast.unparse(node).rpartition(".")[2])

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if ast.unparse(node.value) == "pool":
            return ast.Yield(ast.Tuple([ast.Constant("read"), ast.Constant(node.attr)], ast.Load()))
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        target, value = node.targets[0], self.visit(node.value)
        if isinstance(target, ast.Attribute):
            return ast.Expr(ast.Yield(ast.Tuple([ast.Constant("write"), ast.Constant(target.attr), value], ast.Load())))
        return ast.Assign([target], value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        for argument in node.args.args:
            argument.annotation = None
        body = [self.visit(one) for one in node.body]
        return ast.FunctionDef(node.name, node.args, [*body, ast.If(ast.Constant(False), [ast.Expr(ast.Yield(None))], [])], [], None)


def generators(module: ModuleType, replaced: dict[str, str] | None = None, **constants: Any) -> dict[str, Callable[..., Thread]]:
    """The functions of a module as generators. ``replaced``: pieces of source, to seed faults; ``constants``: other values of its names."""
    source = inspect.getsource(module)
    for old, new in (replaced or {}).items():
        assert old in source, old
        source = source.replace(old, new)
    definitions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    rewriter = _Rewriter(module, {node.name for node in definitions})
    tree = ast.Module([rewriter.visit(node) for node in definitions], [])
    names: dict[str, Any] = {**vars(module), **constants}
    exec(compile(ast.fix_missing_locations(tree), module.__name__, "exec"), names)
    return {node.name: names[node.name] for node in definitions}


@dataclass
class _Running:
    """A thread: its generator, the operation before which it stands, and what it knows of the others' progress."""

    code: Thread
    operation: tuple[Any, ...] | None
    clock: dict[int, int]
    waits_for: str | None = None      # the word of a futex, or "join"
    idle: int = 0                     # polls since memory changed


@dataclass
class Execution:
    """One order of steps. ``choices``: which of the threads that could go on did, and of how many."""

    functions: dict[str, Callable[..., Thread]]
    prefix: list[int]
    preemptions: int
    memory: dict[str, int] = field(default_factory=dict)
    threads: list[_Running] = field(default_factory=list)
    choices: list[tuple[int, int]] = field(default_factory=list)
    released: dict[str, dict[int, int]] = field(default_factory=dict)
    accesses: dict[str, dict[tuple[int, str], int]] = field(default_factory=dict)
    parts: list[tuple[int, int, int]] = field(default_factory=list)
    workers: list[int] = field(default_factory=list)      # the thread of each part
    modes: dict[int, int] = field(default_factory=dict)      # of floating point, of each thread
    time: int = 0

    def run(self, client: Callable[["Execution"], Thread]) -> None:
        """Runs to the end. WrongOrderError for threads that wait for ever, and for a data race."""
        self._begin(client(self), {})
        current, left = 0, self.preemptions
        while any(one.operation is not None for one in self.threads):
            able = [n for n, one in enumerate(self.threads) if self._can_go_on(one)]
            if not able:
                waiting = [one.operation for one in self.threads if one.operation is not None]
                raise WrongOrderError(f"threads wait for ever: {waiting} with {self.memory}")
            options = [current, *(n for n in able if n != current)] if current in able else able
            if current in able and not left:
                options = [current]
            choice = self.prefix[len(self.choices)] if len(self.choices) < len(self.prefix) else 0
            self.choices.append((choice, len(options)))
            if current in able and options[choice] != current:
                left -= 1
            current = options[choice]
            self._step(current)
            if len(self.choices) > 4000:
                raise WrongOrderError("threads poll for ever")

    def _begin(self, code: Thread, clock: dict[int, int]) -> None:
        number = len(self.threads)
        self.threads.append(_Running(code, next(code, None), {**clock, number: 1}))

    def _can_go_on(self, one: _Running) -> bool:
        if one.operation is None:
            return False
        if one.operation[0] == "join":
            return all(other is one or other.operation is None for other in self.threads[1:])
        return one.waits_for is None and not (one.operation[0] == "pause" and one.idle > 6 and self._others_can(one))

    def _others_can(self, one: _Running) -> bool:
        return any(o is not one and o.operation is not None and o.waits_for is None and o.operation[0] != "join" and o.idle <= 6
                   for o in self.threads)

    def _step(self, number: int) -> None:
        thread = self.threads[number]
        thread.clock[number] += 1
        assert thread.operation is not None
        kind, *operands = thread.operation
        result = getattr(self, f"_{kind}")(number, *operands)
        try:
            thread.operation = thread.code.send(result)
        except StopIteration:
            thread.operation = None

    # --- the operations ---

    def _ordered(self, number: int, place: str, kind: str) -> None:
        """Refuses an access that nothing orders after an access of another thread, if one writes and one is not atomic."""
        clock = self.threads[number].clock
        for (other, was), at in self.accesses.get(place, {}).items():
            atomic = was[0] == "a" and kind[0] == "a"
            if other != number and not atomic and "w" in was + kind and clock.get(other, 0) < at:
                raise WrongOrderError(f"thread {number} and thread {other} access {place} at once")
        self.accesses.setdefault(place, {})[number, kind] = clock[number]

    def _changed(self) -> None:
        for one in self.threads:
            one.idle = 0

    def _acquire(self, number: int, place: str) -> None:
        clock = self.threads[number].clock
        for other, at in self.released.get(place, {}).items():
            clock[other] = max(clock.get(other, 0), at)

    def _release(self, number: int, place: str) -> None:
        known = self.released.setdefault(place, {})
        for other, at in self.threads[number].clock.items():
            known[other] = max(known.get(other, 0), at)

    def _add(self, number: int, place: str, count: int) -> int:
        self._ordered(number, place, "aw")
        self._acquire(number, place)
        self._release(number, place)
        before = self.memory.get(place, 0)
        self.memory[place] = before + count
        self._changed()
        return before

    def _swap(self, number: int, place: str, value: int) -> int:
        return self._add(number, place, value - self.memory.get(place, 0))

    def _load(self, number: int, place: str) -> int:
        self._ordered(number, place, "ar")
        self._acquire(number, place)
        return self.memory.get(place, 0)

    def _read(self, number: int, place: str) -> Any:
        if place == "handles":
            return [0] * 256
        self._ordered(number, place, "r")
        return self.memory.get(place, 0)

    def _write(self, number: int, place: str, value: int) -> None:
        self._ordered(number, place, "w")
        self.memory[place] = value
        self.released.pop(place, None)
        self._changed()

    def _part(self, number: int, code: int, context: int, first: int, end: int) -> None:
        for step in range(first, end):
            self._ordered(number, f"step {step} of loop {code}", "w")
        if self.modes.get(number, 0) != self.modes.get(0, 0):
            raise WrongOrderError(f"a part of loop {code} is not computed in the caller's floating-point mode")
        self.parts.append((code, first, end))
        self.workers.append(number)
        self._changed()

    def _store_mode(self, number: int, place: str) -> None:
        self._write(number, place, self.modes.get(number, 0))

    def _use_mode(self, number: int, place: str) -> None:
        self.modes[number] = self._read(number, place)

    def _pause(self, number: int) -> None:
        self.threads[number].idle += 1

    def _clock(self, number: int) -> int:
        self.time += 20_000
        return self.time

    def _futex(self, number: int, which: int, place: str, does: int, value: int, *_: int) -> None:
        if does == 129:
            woken = 0
            for one in self.threads:
                if one.waits_for == place and woken < value:
                    one.waits_for, woken, one.idle = None, woken + 1, 0
        elif self.memory.get(place, 0) == value:
            self.threads[number].waits_for = place

    def _pid(self, number: int, *_: Any) -> int:
        return 7

    def _stack(self, number: int, *_: Any) -> list[int]:
        return [0] * 16

    def _create(self, number: int, handle: str, _: int, code: str, pool: Any) -> int:
        self._begin(self.functions[code](pool), self.threads[number].clock)
        return 0

    def _join(self, number: int, *_: Any) -> int:
        for other, one in enumerate(self.threads):
            self.threads[number].clock[other] = max(self.threads[number].clock.get(other, 0), one.clock[other])
        return 0


def explore(functions: dict[str, Callable[..., Thread]], client: Callable[[Execution], Thread], preemptions: int,
            most: int = 1_000_000) -> int:
    """Runs a client, which is thread 0, in all orders. Returns how many there are. WrongOrderError, with the order, for the first wrong
    one."""
    prefix: list[int] = []
    for count in range(1, most + 1):
        one = Execution(functions, prefix, preemptions)
        try:
            one.run(client)
        except WrongOrderError as error:
            raise WrongOrderError(f"{error}, in the order {[c for c, _ in one.choices]}") from None
        taken = one.choices
        while taken and taken[-1][0] + 1 == taken[-1][1]:
            taken.pop()
        if not taken:
            return count
        prefix = [choice for choice, _ in taken[:-1]] + [taken[-1][0] + 1]
    return most
