"""From pipeline text to steps: names resolved, options parsed, places checked, all before there is a module."""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from . import upstream
from .base import ModulePass, OptionError, PassContext, TargetText, options_of
from .options import nearest
from .pipeline_text import EXTERNAL, External, Item, Nested, PassText, PipelineError, parse_pipeline, print_external


@dataclass(frozen=True)
class PythonStep:
    """A pass of ours or of the user's."""

    pass_: ModulePass

    @property
    def name(self) -> str:
        return self.pass_.name

    def __str__(self) -> str:
        return str(self.pass_)


@dataclass(frozen=True)
class UpstreamStep:
    """A pass of upstream's, with the text that MLIR parses: the ops around it, its options."""

    name: str
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class ExternalStep:
    """Steps on every external module, of one backend or (None) of all."""

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
    """What `external` gives; the pipeline resolves it."""

    backend: str | None
    passes: object


def table_of(extra_passes: Iterable[type[ModulePass]] = ()) -> dict[str, type[ModulePass]]:
    """Our passes and the user's by name. Raises PipelineError when two have one name; the same class may come twice."""
    from .registry import PASSES

    table: dict[str, type[ModulePass]] = {}
    for one in (*PASSES, *extra_passes):
        if table.setdefault(one.name, one) is not one:
            raise PipelineError(f'two passes are called "{one.name}": {_where(table[one.name])} and {_where(one)}')
        if one not in PASSES and one.name in upstream.places():
            raise PipelineError(f'{_where(one)} is called "{one.name}", which is the name of a pass of upstream MLIR')
    return table


def resolve(passes: object, table: Mapping[str, type[ModulePass]]) -> tuple[Step, ...]:
    """Steps of a pipeline given as text, as a pass, or as a list of those and of `external(...)`."""
    if isinstance(passes, str):
        return tuple(step for item in parse_pipeline(passes) for step in _steps(item, table, ()))
    if isinstance(passes, ModulePass):
        return (PythonStep(passes),)
    if isinstance(passes, ExternalOf):
        return (ExternalStep(passes.backend, resolve(passes.passes, table)),)
    if isinstance(passes, list | tuple):
        return tuple(step for one in passes for step in resolve(one, table))
    raise PipelineError(f"a pipeline is made of text, passes and external(...), not of {type(passes).__name__}: {passes!r}")


def check_targets(steps: Iterable[Step], context: PassContext) -> None:
    """Look up every target that the passes' options name, so that an unknown one is refused before anything runs."""
    for step in steps:
        if isinstance(step, ExternalStep):
            check_targets(step.steps, context)
        elif isinstance(step, PythonStep):
            for option in options_of(type(step.pass_)):
                value = getattr(step.pass_, option.field)
                if isinstance(value, TargetText):
                    context.target(value)


def _steps(item: Item, table: Mapping[str, type[ModulePass]], ops: tuple[str, ...]) -> Iterable[Step]:
    if isinstance(item, External):
        if ops:
            raise PipelineError(f"{print_external(item.backend)}(...) cannot stand inside {ops[-1]}(...): write it beside it")
        inner = tuple(step for one in item.items for step in _steps(one, table, ()))
        yield ExternalStep(item.backend, inner)
    elif isinstance(item, Nested):
        for one in item.items:
            yield from _steps(one, table, (*ops, item.op))
    elif item.name in table:
        yield _python_step(item, table[item.name], ops)
    elif upstream.is_pass(item.name):
        text = upstream.anchored(item.name, item.options, ops)
        if item.options:
            upstream.check(text, item.name)
        yield UpstreamStep(item.name, text)
    else:
        advice = nearest(item.name, [*table, *upstream.places(), EXTERNAL]) or "; legato-opt --list-passes shows all"
        raise PipelineError(f'there is no pass "{item.name}"{advice}')


def _python_step(item: PassText, pass_class: type[ModulePass], ops: tuple[str, ...]) -> PythonStep:
    if ops:
        raise PipelineError(f'"{item.name}" works on the whole module and cannot stand inside {ops[-1]}(...): write it beside it')
    try:
        return PythonStep(pass_class.parse(item.options))
    except OptionError as error:
        raise PipelineError(f'"{item.name}": {error}') from None


def _where(pass_class: type[ModulePass]) -> str:
    return f"{pass_class.__module__}.{pass_class.__qualname__}"
