"""Resolves pipeline text to steps: passes looked up, options parsed, places checked, before there is a module."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from legato.core.interfaces import BackendLike, TargetLike
from legato.passes.pipeline import renamed, upstream
from legato.passes.pipeline.base import BackendName, ModulePass, OptionError, PassContext, TargetText, options_of
from legato.passes.pipeline.options import nearest
from legato.passes.pipeline.registry import PASSES, all_passes, check_name, check_run, load, registered, where
from legato.passes.pipeline.text import EXTERNAL, External, Item, Nested, PassText, PipelineError, parse_pipeline, print_external

THE_TARGET = "%s"  # in the option of a pass: the target that the pipeline is for


@dataclass(frozen=True)
class PythonStep:
    """A pass written in Python, Legato's or the user's."""

    pass_: ModulePass

    @property
    def name(self) -> str:
        """The pass's name."""
        return self.pass_.name

    def __str__(self) -> str:
        return str(self.pass_)


@dataclass(frozen=True)
class UpstreamStep:
    """An upstream pass, with the text for MLIR's parser: its anchor ops and options."""

    name: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class ExternalStep:
    """Steps for every external module, of one backend or (None) of all."""

    backend: str | None
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return f"{print_external(self.backend)}({','.join(map(str, self.steps))})"


Step = PythonStep | UpstreamStep | ExternalStep


def external(backend: str | None, passes: str | ModulePass | Sequence[str | ModulePass | ExternalStep]) -> ExternalOf:
    """Passes for the external modules of a backend (None: of all), as an element of a pipeline's list."""
    return ExternalOf(backend, passes)


@dataclass(frozen=True)
class ExternalOf:
    """The result of `external`, which the pipeline resolves."""

    backend: str | None
    passes: object


class PassNames:
    """Legato's passes, the registered ones and the user's `extra` ones by name.

    Legato's are imported only when looked up, unless there are extra ones or all are listed. PipelineError if two passes have the same
    name; the same class may occur twice.
    """

    def __init__(self, extra: Iterable[type[ModulePass]] = ()):
        self.extra = tuple(extra)
        self._table: dict[str, type[ModulePass]] | None = None
        if self.extra:
            self.table()

    def find(self, name: str) -> type[ModulePass] | None:
        """The pass of that name, or None."""
        if self._table is not None:
            return self._table.get(name)
        return load(name) if name in PASSES else registered().get(name)

    def table(self) -> dict[str, type[ModulePass]]:
        """All passes by name, Legato's first."""
        if self._table is None:
            self._table = {}
            for one in (*all_passes(), *registered().values(), *self.extra):
                check_name(one)
                if self._table.setdefault(one.name, one) is not one:
                    raise PipelineError(f'two passes are called "{one.name}": {where(self._table[one.name])} and {where(one)}')
        return self._table


def resolve(passes: object, names: PassNames) -> tuple[Step, ...]:
    """The steps of a pipeline given as text, as a pass, or as a list of those and of `external(...)`."""
    if isinstance(passes, str):
        return tuple(step for item in parse_pipeline(passes) for step in _steps(item, names, ()))
    if isinstance(passes, ModulePass):
        check_run(type(passes))
        return (PythonStep(passes),)
    if isinstance(passes, ExternalOf):
        return (ExternalStep(passes.backend, resolve(passes.passes, names)),)
    if isinstance(passes, list | tuple):
        return tuple(step for one in passes for step in resolve(one, names))
    if isinstance(passes, type) and issubclass(passes, ModulePass):
        raise PipelineError(f"a pipeline is made of passes, and {passes.__name__} is the class of one: write {passes.__name__}()")
    raise PipelineError(f"a pipeline is made of text, passes and external(...), not of {type(passes).__name__}: {passes!r}")


def with_target(steps: Iterable[Step], target: TargetLike) -> tuple[Step, ...]:
    """The steps with ``%s`` in their options replaced by one target."""
    return tuple(_with_target(step, target) for step in steps)


def _with_target(step: Step, target: TargetLike) -> Step:
    if isinstance(step, ExternalStep):
        return ExternalStep(step.backend, with_target(step.steps, target))
    if isinstance(step, UpstreamStep):
        return step
    values = {one.field: getattr(step.pass_, one.field) for one in options_of(type(step.pass_))}
    mine = {field: TargetText.of(target) for field, value in values.items() if isinstance(value, TargetText) and value == THE_TARGET}
    return PythonStep(type(step.pass_)(**{**values, **mine})) if mine else step


def names_of(steps: Iterable[Step]) -> Iterator[str]:
    """The names of the passes, in order."""
    for step in steps:
        if isinstance(step, ExternalStep):
            yield from names_of(step.steps)
        else:
            yield step.name


def targets_of(steps: Iterable[Step], context: PassContext) -> Iterator[TargetLike]:
    """The targets in the passes' options. LegatoError for an unknown one."""
    return (context.target(value) for value in _values(steps) if isinstance(value, TargetText))


def backends_of(steps: Iterable[Step], context: PassContext) -> Iterator[BackendLike]:
    """The backends in the passes' options; none where the context knows of none. LegatoError for an unknown one."""
    known = context.resolve_backend is not None
    return (context.backend(value) for value in _values(steps) if known and value and isinstance(value, BackendName))


def _values(steps: Iterable[Step]) -> Iterator[Any]:
    for step in steps:
        if isinstance(step, ExternalStep):
            yield from _values(step.steps)
        elif isinstance(step, PythonStep):
            for option in options_of(type(step.pass_)):
                yield getattr(step.pass_, option.field)


def _steps(item: Item, names: PassNames, ops: tuple[str, ...]) -> Iterator[Step]:
    if isinstance(item, External):
        if ops:
            raise PipelineError(f"{print_external(item.backend)}(...) cannot stand inside {ops[-1]}(...): write it beside it")
        yield ExternalStep(item.backend, tuple(step for one in item.items for step in _steps(one, names, ())))
    elif isinstance(item, Nested):
        for one in item.items:
            yield from _steps(one, names, (*ops, item.op))
    elif (pass_class := names.find(item.name)) is not None:
        yield _python_step(item, pass_class, ops)
    elif upstream.is_pass(item.name):
        text = upstream.anchored(item.name, item.options, ops)
        if item.options:
            upstream.check(text, item.name)
        yield UpstreamStep(item.name, text)
    elif (stale := renamed.answer(item.name, item.options)) is not None:
        raise PipelineError(stale)
    else:
        advice = nearest(item.name, [*names.table(), *upstream.places(), EXTERNAL]) or "; legato-opt --list-passes shows all"
        raise PipelineError(f'there is no pass "{item.name}"{advice}')


def _python_step(item: PassText, pass_class: type[ModulePass], ops: tuple[str, ...]) -> PythonStep:
    if ops:
        raise PipelineError(f'"{item.name}" works on the whole module and cannot stand inside {ops[-1]}(...): write it beside it')
    try:
        return PythonStep(pass_class.parse(item.options))
    except OptionError as error:
        raise PipelineError(f'"{item.name}": {error}') from None
