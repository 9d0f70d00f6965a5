"""Targets: values that name a kind of device, its parents, its rules, its schedules and its pipeline.

A target is written ``name`` or ``name{option=value ...}``: ``"llvm{cpu=x86-64-v3 threads=2}"``.
"""
import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from legato.analysis.structured import StructuredKernel
from legato.core.errors import LegatoError
from legato.core.given import check_text
from legato.core.interfaces import AttentionTilesLike, MachineLike, PackingLike, WinogradTilesLike
from legato.core.mlir import ext, func, ir
from legato.core.user_code import asked, blamed
from legato.dialects.late_loading import python_dialects
from legato.targets.classified import KernelFunction, ask
from legato.targets.cpu.machine import Machine
from legato.targets.gpu.machine import Gpu
from legato.targets.pipelines import OLD_NAMES, Stages
from legato.targets.rule import Rule
from legato.targets.target_fields import check_fields


@dataclass(frozen=True, repr=False)
class Target:
    """A kind of device, with the options chosen for one compile.

    ``parents``: values, or names that are looked up when the target is used; their rules are tried for ops without a rule here, in the
    order of ``chain``. ``rules``: its own. ``options``: names with defaults, which have the options' Python types; options of the parents
    are inherited. ``make_machine``: makes the device's description from the options. ``schedule_function(function, machine)``: returns the
    transform script for a prim_func (a ``func.FuncOp``), or None; on a GPU also several, of which the first that the kernel takes is used.
    ``packing_function(function, machine)``: decides how a prim_func's
    constant operand is packed. ``attention_function(function, machine)``: the sizes of the blocks of an attention that is computed as one
    kernel, or None; ``fuses_attention_function(function, machine)``: whether one is, where the blocks are a schedule's, as on GPUs.
    ``row_forms_function(function, machine)``: on GPUs, numbers of rows for which a kernel gets a form of its own.
    ``winograd_function(function, machine)``: the sizes of the blocks of a convolution that is computed by Winograd's
    algorithm, or None. Each takes the prim_func's classification in its place if it is decorated by
    ``legato.targets.classified.classified``. ``prepare_function(function, machine)``: rewrites a prim_func before it is scheduled.
    ``stages``: the pipeline, as pairs of a stage's name and its passes (``%s`` stands for the target's own text), or a function that makes
    them for a target with options. ``runs``: whether this process can call the code at the end of the pipeline; None: what the parents
    say. ``engine``: what runs the code at the end of the pipeline, where that is no CPU (``"vulkan"``); "": what the parents say.
    ``dialects``: defined in Python, that rules, schedules and passes of the target use; those of ops that have a rule need not be
    listed. ``passes``: pass classes that the stages may name besides Legato's. ``doc``: one line for lists.
    """

    name: str
    parents: tuple["Target | str", ...] = ()
    rules: tuple[Rule, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    make_machine: Callable[[Mapping[str, Any]], MachineLike] | None = None
    schedule_function: KernelFunction[str | Iterable[str] | None] | None = None
    packing_function: KernelFunction[PackingLike | None] | None = None
    attention_function: KernelFunction[AttentionTilesLike | None] | None = None
    fuses_attention_function: KernelFunction[bool | None] | None = None
    row_forms_function: KernelFunction[Sequence[tuple[int, int | None]]] | None = None
    winograd_function: KernelFunction[WinogradTilesLike | None] | None = None
    prepare_function: Callable[[func.FuncOp, Any], None] | None = None
    stages: "Stages | Callable[[Target], Stages]" = ()
    runs: bool | None = None
    engine: str = ""
    dialects: tuple[type[ext.Dialect], ...] = ()
    passes: tuple[type, ...] = ()
    doc: str = ""

    def __post_init__(self) -> None:
        check_fields(self)

    def chain(self) -> tuple["Target", ...]:
        """This target and its ancestors in the order in which they are asked: that of Python's base classes (C3). A target comes before
        its parents, and the parents of each target in their order. LegatoError if no order fulfils that for all targets, or if a parent
        given by name has not been looked up."""
        return self._chain

    @cached_property
    def _chain(self) -> tuple["Target", ...]:
        parents: list[Target] = []
        for parent in self.parents:
            if isinstance(parent, str):
                raise LegatoError(f"target '{self.name}': its parent '{parent}' has not been looked up: pass the target to a compile, "
                                  "or resolve it by a Catalog")
            parents.append(parent)
        return (self, *self._merged([[*parent.chain()] for parent in parents] + [parents]))

    def _merged(self, lists: "list[list[Target]]") -> "list[Target]":
        """One list with the targets of all, in an order that agrees with each. Targets of one name are the same."""
        found: list[Target] = []
        while lists := [one for one in lists if one]:
            later = {target.name for one in lists for target in one[1:]}
            first = next((one[0] for one in lists if one[0].name not in later), None)
            if first is None:
                orders = "; ".join(" before ".join(f"'{target.name}'" for target in one) for one in lists if len(one) > 1)
                raise LegatoError(f"target '{self.name}': its parents ({', '.join(_name(p) for p in self.parents)}) do not agree on an "
                                  f"order of their ancestors: {orders}; name a target before its own parents")
            found.append(first)
            lists = [[target for target in one if target.name != first.name] for one in lists]
        return found

    def ranked(self, moment: str = "legalize", op: str | None = None) -> list[tuple["Target", Rule]]:
        """The rules of the chain for a moment (and an op), in the order in which they are tried: by distance, then by rank."""
        return [(t, r) for t in self.chain() for r in sorted(t.rules, key=lambda r: r.rank, reverse=True)
                if r.moment == moment and op in (None, r.op)]

    def known_dialects(self) -> tuple[type[ext.Dialect], ...]:
        """The dialects defined in Python that IR for the target may use: ``dialects`` of the chain, and those of ops that have a rule."""
        return self._known_dialects

    @cached_property
    def _known_dialects(self) -> tuple[type[ext.Dialect], ...]:
        known = {one.DIALECT_NAMESPACE: one for target in self.chain() for one in target.dialects}
        there = python_dialects()
        ruled = {rule.op.partition(".")[0] for target in self.chain() for rule in target.rules}
        return (*known.values(), *(there[name] for name in sorted(ruled) if name in there and name not in known))

    def pass_classes(self) -> tuple[type, ...]:
        """The pass classes that the stages may name besides Legato's: ``passes`` of the chain."""
        return tuple(dict.fromkeys(one for target in self.chain() for one in target.passes))

    def _inherited(self, attribute: str) -> Any:
        return next((v for t in self.chain() if (v := getattr(t, attribute))), None)

    @property
    def machine(self) -> MachineLike | None:
        """The device's description (vector width, registers, threads, ...), made from the options."""
        make = self._inherited("make_machine")
        return asked(make, f"the make_machine of target '{self.name}'", self.options) if make else None

    @property
    def cpu(self) -> Machine | None:
        """The machine, if it is a CPU."""
        machine = self.machine
        return machine if isinstance(machine, Machine) else None

    @property
    def gpu(self) -> Gpu | None:
        """The machine, if it is a GPU."""
        machine = self.machine
        return machine if isinstance(machine, Gpu) else None

    def with_cpu(self, **changes: Any) -> "Target":
        """The target with another machine, if that is a CPU: with ``threads=1`` for code that is one of several threads' own, with
        ``awake=True`` for code that runs many times in a row."""
        machine = self.cpu
        return self if machine is None else replace(self, make_machine=lambda _options: replace(machine, **changes))

    def schedule(self, kernel: StructuredKernel) -> str | None:
        """The transform script for a prim_func, or None if it is not scheduled."""
        return next(self.schedules(kernel), None)

    def schedules(self, kernel: StructuredKernel) -> Iterator[str]:
        """The transform scripts for a prim_func, best first; several on GPUs only, where the first is used that the kernel takes."""
        given = self._asked("schedule_function", ask, kernel)
        if not (given is None or isinstance(given, str | Iterable)):
            raise LegatoError(f"the schedule_function of target '{self.name}' returns a transform script as text, several, or None; it "
                              f"returned {given!r}")
        yield from () if given is None else (given,) if isinstance(given, str) else given

    def row_forms(self, kernel: StructuredKernel) -> Sequence[tuple[int, int | None]]:
        """The least and the most rows (None: any number) of the forms that a kernel of unknown rows has besides that for all."""
        return self._asked("row_forms_function", ask, kernel) or ()

    def attention(self, kernel: StructuredKernel) -> AttentionTilesLike | None:
        """The sizes of the blocks of an attention that is computed as one kernel, or None."""
        return self._asked("attention_function", ask, kernel)

    def fuses_attention(self, kernel: StructuredKernel) -> bool:
        """Whether an attention is computed as one kernel."""
        return bool(self._asked("fuses_attention_function", ask, kernel)) or self.attention(kernel) is not None

    def winograd(self, kernel: StructuredKernel) -> WinogradTilesLike | None:
        """The sizes of the blocks of a convolution that is computed by Winograd's algorithm; None for others, and with winograd=false."""
        return None if self.options.get("winograd") is False else self._asked("winograd_function", ask, kernel)

    def packing(self, kernel: StructuredKernel) -> PackingLike | None:
        """How a prim_func's constant operand is packed, or None."""
        return self._asked("packing_function", ask, kernel)

    @property
    def prepares(self) -> bool:
        """Whether the target has a function that rewrites kernels before they are scheduled."""
        return self._inherited("prepare_function") is not None

    def prepare(self, kernel: func.FuncOp) -> None:
        """Rewrites a prim_func by the prepare_function, if there is one."""
        self._asked("prepare_function", lambda function, *given: function(*given), kernel)

    def _asked(self, attribute: str, call: Callable[..., Any], kernel: Any) -> Any:
        """What the target's function of that name returns for a kernel; None without one. LegatoError, naming it, for what it raises."""
        function = self._inherited(attribute)
        if not function:
            return None
        try:
            return call(function, kernel, self.machine)
        except (LegatoError, ir.MLIRError):
            raise
        except Exception as error:
            raise blamed(error, f"the {attribute} of target '{self.name}'", function) from error

    def _stages(self) -> Stages:
        given: Stages | Callable[[Target], Stages] = self._inherited("stages") or ()
        try:
            stages = given(self) if callable(given) else given
        except LegatoError:
            raise
        except Exception as error:
            raise blamed(error, f"the stages of target '{self.name}'", cast("Callable[..., Any]", given)) from error
        pairs = stages if isinstance(stages, list | tuple) else (None,)
        if not all(isinstance(one, tuple | list) and [*map(type, one)] == [str, str] for one in pairs):
            raise LegatoError(f"target '{self.name}': stages are pairs of a name and passes as text, (('relax', 'relax-canonicalize'), "
                              f"...); found {stages!r}")
        names = [name for name, _ in stages]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise LegatoError(f"target '{self.name}': two stages are named '{twice}'")
        return stages

    def stage(self, name: str) -> str:
        """The name of a stage in the pipeline, also for a former name. LegatoError if there is no such stage."""
        check_text(name, "the name of a stage")
        names = [one for one, _ in self._stages()]
        if name not in names and OLD_NAMES.get(name) in names:
            return OLD_NAMES[name]
        if name not in names:
            raise LegatoError(f"target '{self.name}' has no stage '{name}'{nearest(name, names)}")
        return name

    @property
    def runs_here(self) -> bool:
        """Whether this process can call the code at the end of the pipeline, as stated by the target or its nearest ancestor that
        states it."""
        return next((t.runs for t in self.chain() if t.runs is not None), True)

    @property
    def engine_here(self) -> str:
        """What runs the code at the end of the pipeline, as the target or its nearest ancestor says; "" for the CPU."""
        return next((t.engine for t in self.chain() if t.engine), "")

    def templates(self, last: str | None = None) -> list[tuple[str, str]]:
        """The stages and their passes, up to and including the stage ``last``, with ``%s`` for the target's text. LegatoError if there is
        no such stage."""
        stages = self._stages()
        end = len(stages) if last is None else [name for name, _ in stages].index(self.stage(last)) + 1
        return list(stages[:end])

    def pipeline(self, last: str | None = None) -> list[tuple[str, str]]:
        """The stages and their passes as text, up to and including the stage ``last``. LegatoError if there is no such stage."""
        return [(name, text.replace("%s", str(self))) for name, text in self.templates(last)]

    def __str__(self) -> str:
        given = " ".join(f"{k}={_text(v)}" for k, v in self.options.items() if v is not None)
        return f"{self.name}{{{given}}}" if given else self.name

    def __repr__(self) -> str:
        parents = f", parents {', '.join(map(_name, self.parents))}" if self.parents else ""
        return f"<legato.Target {self}: {len(self.rules)} rules{parents}>"


def _name(parent: "Target | str") -> str:
    return parent if isinstance(parent, str) else parent.name


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def nearest(word: str, known: Iterable[str], limit: int = 24) -> str:
    """A hint for a misspelled word: ``; did you mean 'llvm'?``, and the known words if they are few."""
    known = sorted(known)
    close = difflib.get_close_matches(word, known, 3)
    hint = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
    if close and len(known) > limit:
        return hint
    return f"{hint} (known: {', '.join(known[:limit]) or 'none'}{', ...' if len(known) > limit else ''})"


def split_target(text: str) -> tuple[str, str]:
    """The name and the options' text of a target. LegatoError for malformed text."""
    match = re.fullmatch(r"\s*([\w.-]+)\s*(?:\{(.*)\})?\s*", text)
    if not match:
        raise LegatoError(f"'{text}' is no target: expected name or name{{option=value ...}}")
    return match.group(1), match.group(2) or ""


def given_options(text: str) -> set[str]:
    """The names of the options in text (``cpu=x86-64-v3 threads=2``)."""
    return {item.partition("=")[0] for item in re.split(r"[\s,]+", text.strip()) if item}


def with_options(target: Target, given: str) -> Target:
    """``target`` with options from text (``cpu=x86-64-v3 threads=2``). LegatoError for unknown options and invalid values."""
    options, seen = dict(target.options), set()
    for item in re.split(r"[\s,]+", given.strip()):
        if not item:
            continue
        key, equals, value = item.partition("=")
        if key not in options:
            raise LegatoError(f"target '{target.name}' has no option '{key}'{nearest(key, options)}")
        if not equals or not value:
            raise LegatoError(f"target '{target.name}': option '{key}' has no value: write {key}=...")
        if key in seen:
            raise LegatoError(f"target '{target.name}': option '{key}' is given twice")
        seen.add(key)
        options[key] = _value(target.name, key, value, options[key])
    return replace(target, options=options)


def _value(target: str, key: str, text: str, default: Any) -> Any:
    try:
        if default is None and text.lower() in ("true", "false"):
            return text.lower() == "true"
        if isinstance(default, bool):
            return {"true": True, "1": True, "false": False, "0": False}[text.lower()]
        return type(default)(text) if isinstance(default, int | float) else text
    except (KeyError, ValueError):
        raise LegatoError(f"target '{target}': option '{key}' wants {type(default).__name__}, found '{text}'") from None
