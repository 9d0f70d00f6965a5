"""The registry of rules and targets in this process. Only users add to it, by the decorators and ``register_target``; a compile works
on a snapshot, which later registrations do not change."""
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, get_args

from legato.core.errors import LegatoError
from legato.targets.builtin import TARGETS
from legato.targets.known_ops import check_form, check_op, is_graph_op
from legato.targets.rule import Form, Moment, Predicate, Rule, make_rules
from legato.targets.target import Target, nearest

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass
class RegistryState:
    """What was registered: rules with the names of their targets, in order, and targets with the modules that did it."""

    rules: list[tuple[str, Rule]] = field(default_factory=list)
    targets: list[Target] = field(default_factory=list)
    owners: dict[str, str] = field(default_factory=dict)


_state = RegistryState()
_lock = threading.RLock()


def snapshot() -> RegistryState:
    """A copy of the registry as it is now."""
    with _lock:
        return RegistryState(list(_state.rules), list(_state.targets), dict(_state.owners))


@contextmanager
def isolated() -> Iterator[None]:
    """A context whose registrations are undone at its end, for tests and notebooks."""
    global _state
    with _lock:
        before, _state = _state, snapshot()
    try:
        yield
    finally:
        with _lock:
            _state = before


def register_target(target: Target) -> Target:
    """Makes a target known by its name in this process. A module may register its target again, which replaces it. LegatoError if the
    name is taken."""
    return _register_target(target, sys._getframe(1).f_globals.get("__name__", "?"))


def _register_target(target: Target, owner: str) -> Target:
    if not isinstance(target, Target):
        raise LegatoError(f"a target is a value, legato.Target('npu', parents=('llvm',)), and not {target!r}")
    with _lock:
        if any(t.name == target.name for t in TARGETS):
            raise LegatoError(f"a target named '{target.name}' comes with Legato: give yours another name")
        before = _state.owners.setdefault(target.name, owner)
        if before != owner:
            raise LegatoError(f"{before} has registered a target named '{target.name}' already")
        _state.targets = [t for t in _state.targets if t.name != target.name] + [target]
    return target


def legalize(*ops: str, target: str | Target, when: Predicate | tuple[Predicate, ...] = (), priority: int = 0, form: Form | None = None,
             schedule: Any = None) -> Callable[[Function], Function]:
    """Decorator: registers a function as the legalization of ``ops`` (graph ops or intrinsics) on ``target``.

    For graph ops ``form`` is "kernel" (default: ``fn(k, *inputs, *outputs)`` builds a kernel) or "rewrite" (``fn(op, *operands)`` returns
    the values that replace the op). For other ops it is an intrinsic rule, ``fn(op, *operands)``. ``when``: predicates; ``priority``:
    among the rules of this target for one op, higher is tried first. ``schedule``: of the kernels that the rule makes, in place of the
    target's own: a function that is given a Schedule of the kernel and takes its steps, a ``legato.Schedule``, whose steps are repeated,
    or a transform script as text or Path. LegatoError for an op or target that does not exist, and for a second rule of the same rank. The
    function itself is returned; defining it again (a notebook's cell run twice) replaces the rule.
    """
    return _registering(ops, target, "legalize", form, when, priority, (), schedule)


def legalize_intrinsic(*ops: str, target: str | Target, dtypes: tuple[str, ...] = (), when: Predicate | tuple[Predicate, ...] = (),
                       priority: int = 0) -> Callable[[Function], Function]:
    """Decorator: registers a function as the legalization of scalar and vector ops on ``target``.

    ``fn(op, *operands)`` returns an equal value built from other ops, or a Refusal. ``dtypes``: the element types it supports (empty:
    any); f16 and bf16 are computed in f32 if only f32 is among them. Otherwise as ``legalize``.
    """
    return _registering(ops, target, "legalize", "intrinsic", when, priority, dtypes)


def lower_intrinsic(*ops: str, target: str | Target, dtypes: tuple[str, ...] = (), when: Predicate | tuple[Predicate, ...] = (),
                    priority: int = 0) -> Callable[[Function], Function]:
    """Decorator: registers a function as the lowering of scalar and vector ops on ``target`` to an instruction of the device or a
    library function. Otherwise as ``legalize_intrinsic``."""
    return _registering(ops, target, "lower", "intrinsic", when, priority, dtypes)


def _registering(ops: tuple[str, ...], target: str | Target, moment: Moment, form: Form | None, when: Any, priority: int,
                 dtypes: tuple[str, ...], schedule: Any = None) -> Callable[[Function], Function]:
    where = "@legato.lower_intrinsic" if moment == "lower" else "@legato.legalize"
    if not ops:
        raise LegatoError(f"{where} wants the names of ops")
    ops = tuple(check_op(op, where) for op in ops)
    forms = [form or ("kernel" if is_graph_op(op) else "intrinsic") for op in ops]
    if form is not None and form not in get_args(Form):
        raise LegatoError(f"{where}: there is no form '{form}'; the forms are {', '.join(get_args(Form))}")
    for op, one in zip(ops, forms):
        check_form(op, one, where)
    owner = sys._getframe(2).f_globals.get("__name__", "?")
    if isinstance(target, Target):
        if not any(target is t for t in (*TARGETS, *_state.targets)):
            _register_target(target, owner)
    else:
        _check_target(target, where)
    name = target.name if isinstance(target, Target) else target

    def register(function: Function) -> Function:
        options = {"when": when, "priority": priority, "moment": moment, "dtypes": dtypes, "schedule": schedule}
        rules = [make_rules((op,), one, function, **options)[0] for op, one in zip(ops, forms)]
        with _lock:
            kept = [(t, r) for t, r in _state.rules if not _again(r, t, rules, name)]
            for rule in rules:
                _check_rank(kept, name, rule)
            _state.rules = kept + [(name, rule) for rule in rules]
        return function

    return register


def _check_target(name: str, where: str) -> None:
    from legato.targets.catalog import installed

    if not isinstance(name, str):
        raise LegatoError(f"{where}: target= is the name of one target, or a legato.Target; found {name!r}")
    known = [t.name for t in (*TARGETS, *_state.targets)] + [e.name for e in installed()]
    if (plain := name.partition("{")[0]) != name and plain in known:
        raise LegatoError(f"{where}: a rule is for a target with any options: write target='{plain}', and not '{name}'")
    if name not in known:
        raise LegatoError(f"{where}: unknown target '{name}'{nearest(name, known)}; legato.register_target(Target({name!r}, ...)) makes "
                          "one known")


def _again(old: Rule, target: str, rules: list[Rule], name: str) -> bool:
    """Whether ``old`` is an earlier definition of the function that ``rules`` are made of."""
    new = rules[0].function
    a, b = old.function, new
    identity = [(getattr(f, "__module__", None), getattr(f, "__qualname__", None)) for f in (a, b)]
    if identity[0] != identity[1] or a is b:
        return False
    same_place = target == name and any(old.op == r.op and old.moment == r.moment and old.rank == r.rank for r in rules)
    # functions defined in a loop share their code, and do not replace each other
    redefined = getattr(a, "__code__", None) is not getattr(b, "__code__", None) and "<lambda>" not in str(identity[0][1])
    return same_place or redefined


def _check_rank(registered: list[tuple[str, Rule]], target: str, rule: Rule) -> None:
    from legato.targets.catalog import two_of_a_rank

    for name, other in registered:
        if (name, other.op, other.moment, other.rank) == (target, rule.op, rule.moment, rule.rank):
            raise LegatoError(two_of_a_rank(target, other, rule))


def rules_of(target: str) -> list[Rule]:
    """The rules that the process registered for a target."""
    return [replace(rule) for name, rule in snapshot().rules if name == target]
