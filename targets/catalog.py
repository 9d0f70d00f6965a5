"""The targets available to one compile, with all their rules: a snapshot of Legato's own, of the process's registry, of installed
packages (entry points of the group ``legato.targets``) and of those given to the call."""
import difflib
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from legato.core.errors import LegatoError
from legato.targets import registry, tvm_spellings
from legato.targets.builtin import TARGETS
from legato.targets.known_ops import check_op, check_rule, is_graph_op
from legato.targets.rule import GIVEN, REGISTERED, Rule, make_rules
from legato.targets.target import Target, given_options, nearest, split_target, with_options

GROUP = "legato.targets"
VARIABLE = "LEGATO_TARGET_OPTIONS"
OWN_NAMES = frozenset(target.name for target in TARGETS)
GivenRules = Iterable[Rule] | Mapping[str, Callable[..., Any] | Rule]


class Catalog:
    """Targets by name. ``targets``: further ones, which take precedence; ``rules``: for one call, tried before all other rules of the
    requested target: ``Rule`` values, or a map from op names to rules or functions (for graph ops: kernel rules; for others:
    legalizations of intrinsics)."""

    def __init__(self, targets: Iterable[Target] = (), rules: GivenRules = ()):
        self._rules = given_rules(rules)
        self._registered = registry.snapshot()
        self._targets = {t.name: t for t in (*TARGETS, *self._registered.targets, *targets)}
        self._own: dict[str, Mapping[str, Any]] = {}  # options as the targets state them, without those of their parents

    @cached_property
    def _entries(self) -> dict[str, EntryPoint]:
        """The targets of installed packages by name. Reading them takes 10 ms: a compile for a target that is there does without."""
        return {e.name: e for e in installed() if e.name not in self._targets}

    def names(self) -> list[str]:
        """The names of all targets, sorted."""
        return sorted({*self._targets, *self._entries})

    def resolve(self, target: str | Target) -> Target:
        """The target for a text or a value, complete with parents, inherited options and rules. Raises ``LegatoError``."""
        if isinstance(target, Target):
            given = {key for key, value in target.options.items() if value is not None}
            complete = self._complete(target, ())
            complete = replace(complete, options={**complete.options, **target.options})
        elif not isinstance(target, str):
            raise LegatoError(f"a target is a text such as \"llvm{{threads=2}}\", or a legato.Target, not {type(target).__name__}")
        else:
            if (ours := tvm_spellings.answer(target)) is not None and target not in self.names():
                raise LegatoError(ours)
            name, options = split_target(target)
            given = given_options(options)
            complete = with_options(self._complete(self._find(name, f"unknown target '{name}'"), ()), options)
        complete = with_defaults(complete, given)
        if self._rules:
            complete = replace(complete, rules=(*self._rules, *complete.rules))
        for one in complete.chain():
            check_ranks(one)
        _ = complete.machine  # an impossible combination is refused here, not in the middle of a compile
        return complete

    def _find(self, name: str, complaint: str) -> Target:
        if name in self._targets:
            return self._targets[name]
        if name not in self._entries:
            others = f"; others come from installed packages (entry points of the group {GROUP}), legato.register_target and --load"
            raise LegatoError(complaint + (self._of_stage(name) or f"{nearest(name, self.names())}{others}"))
        self._targets[name] = load_entry(self._entries.pop(name))
        self._registered = registry.snapshot()  # with the targets and rules that loading its package registered
        return self._targets[name]

    def _of_stage(self, name: str) -> str:
        """A hint for a word that is, or is nearly, the name of a stage; empty for another one."""
        stages = [stage for target in ("llvm", "nvvm") for stage, _ in self.resolve(target).templates() if stage != target]
        close = difflib.get_close_matches(name, stages, 1) if name not in ("llvm", "nvvm") else []
        if not close or difflib.get_close_matches(name, self.names(), 1):
            return ""
        return (f"; '{close[0]}' is a stage of a target's pipeline: legato.lower(module, last='{close[0]}'), legato-compile --emit "
                f"{close[0]}")

    def _complete(self, target: Target, below: tuple[str, ...]) -> Target:
        if target.name in below:
            raise LegatoError(f"target '{target.name}' is its own ancestor: {' <- '.join([target.name, *reversed(below)])}")
        below = (*below, target.name)
        parents = [self._find(p, f"target '{target.name}': unknown parent '{p}'") if isinstance(p, str) else p for p in target.parents]
        parents = tuple(self._complete(p, below) for p in parents)
        self._own[target.name] = target.options
        options: dict[str, Any] = {}
        for one in reversed(replace(target, parents=parents).chain()):
            options |= self._own[one.name]
        added = [replace(r, layer=REGISTERED) for t, r in self._registered.rules if t == target.name]
        own = tuple(r for r in target.rules if r.layer != REGISTERED)  # a value from another catalog has them already
        for rule in () if target.name in OWN_NAMES else own:
            check_rule(rule, f"target '{target.name}'")
        return replace(target, parents=parents, options=options, rules=(*added, *own))


def with_defaults(target: Target, given: Collection[str]) -> Target:
    """A target with the options of the environment (``LEGATO_TARGET_OPTIONS``) that it has and that are not given. LegatoError for an
    option that no target of Legato's has, and for a value that the option cannot have."""
    text = os.environ.get(VARIABLE, "")
    wanted = [item for item in text.replace(",", " ").split() if (key := item.partition("=")[0]) in target.options and key not in given]
    known = {key for one in TARGETS for key in one.options} | set(target.options)
    for key in given_options(text):
        if key not in known:
            raise LegatoError(f"the environment's {VARIABLE}={text}: no target has an option '{key}'{nearest(key, known)}")
    return with_options(target, " ".join(wanted)) if wanted else target


def installed() -> Iterable[EntryPoint]:
    """The entry points of installed packages that define targets."""
    return entry_points(group=GROUP)


def load_entry(entry: EntryPoint) -> Target:
    """The target of an entry point: a ``Target``, or a function that returns one."""
    try:
        found = entry.load()
        found = found if isinstance(found, Target) or not callable(found) else found()
    except LegatoError:
        raise
    except Exception as error:
        raise LegatoError(f"the entry point {GROUP}:{entry.name} = {entry.value} cannot be loaded: "
                          f"{type(error).__name__}: {error}") from error
    if not isinstance(found, Target):
        raise LegatoError(f"the entry point {GROUP}:{entry.name} = {entry.value} is no Target but {type(found).__name__}")
    if found.name != entry.name:
        raise LegatoError(f"the entry point {GROUP}:{entry.name} = {entry.value} is a target of another name, '{found.name}'")
    return found


def given_rules(rules: GivenRules) -> tuple[Rule, ...]:
    """Rules given to one call, checked. LegatoError for an op that does not exist, and for a value that is not a rule."""
    found: list[Any] = []
    if isinstance(rules, Mapping):
        for op, one in rules.items():
            if callable(one) and not isinstance(one, Rule):
                op = check_op(op, "rules=")
                one = make_rules((op,), "kernel" if is_graph_op(op) else "intrinsic", one)[0]
            found.append(replace(one, op=op) if isinstance(one, Rule) else one)
    else:
        if isinstance(rules, Rule) or callable(rules) or not isinstance(rules, Iterable):
            raise LegatoError(f"rules= takes a list of rules, or a map from op names to functions, rules={{'relax.exp': my_exp}}; found "
                              f"{rules!r}")
        for one in rules:
            found += one if isinstance(one, tuple) else [one]
    for rule in found:
        if not isinstance(rule, Rule):
            raise LegatoError("rules=: expected rules (functions under @legato.kernel(...), @legato.rewrite(...)) or a map from op names "
                              f"to functions, found {rule!r}; a schedule is an argument of a rule: @legato.kernel(..., schedule=...)")
        check_rule(rule, "rules=")
    return tuple(replace(rule, layer=GIVEN) for rule in found)


def check_ranks(target: Target) -> None:
    """LegatoError if a target has two rules of the same rank for one op and moment."""
    seen: dict[Any, Rule] = {}
    for rule in target.rules:
        key = (rule.op, rule.moment, rule.rank)
        other = seen.setdefault(key, rule)
        if other is not rule:
            raise LegatoError(two_of_a_rank(target.name, other, rule))


def two_of_a_rank(target: str, one: Rule, other: Rule) -> str:
    """The error message about two rules of the same rank."""
    return (f"two rules of one rank for {one.op} ({one.moment}) on target '{target}': {one.name} ({one.source}) and {other.name} "
            f"({other.source}); give one of them a priority")
