"""``legato.partition``: gives parts of a model to external compilers and libraries."""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from legato.core.errors import LegatoError
from legato.core.user_code import warn_of
from legato.dialects.loading import load_dialects
from legato.dialects.module import Module
from legato.passes.partition.fuse_by_pattern import FuseByPattern
from legato.passes.partition.merge_composites import MergeComposites
from legato.passes.partition.outline_external import OutlineExternal
from legato.passes.partition.run_codegen import RunCodegen, before_of, check_options, pipeline_of, read_options
from legato.passes.partition.veto_small import VetoSmall
from legato.passes.pipeline.base import BackendName, ModulePass, PassContext
from legato.passes.pipeline.pipeline import PassPipeline
from legato.pipelines import with_catalogs
from legato.targets.backend import Backend
from legato.targets.backend_catalog import BackendCatalog


def partition(module: Module, backends: Iterable[str | Backend | type[Backend]], *, costs: Iterable[ModulePass] = (), codegen: bool = True,
              options: Mapping[str, str] | None = None, context: PassContext | None = None) -> Module:
    """Gives parts of ``module`` to backends, in place, and returns it, as a compile with ``backends=`` does: the passes that each backend
    wants before (``Backend.before``) run first.

    ``backends``: values, classes or names, in order of priority. ``costs``: passes between matching and merging, which may veto groups
    (see passes/partition/costs.py). ``codegen``: False leaves the external modules without generated code. ``options``: for code
    generation, by backend's name (``{"npu": "tile=16"}``), and ``min_ops=4``: merged groups of fewer ops stay with the host. May be
    called again, with passes in between. ``context.report["partition"]`` records what was done. Raises LegatoError.
    """
    if not isinstance(module, Module):
        raise LegatoError(f"partition works on a legato.Module, in place, not on {type(module).__name__}")
    names, catalog = check_backends(backends, options)
    own, context = context is None, context or PassContext()
    context.resolve_backend = context.resolve_backend or catalog.resolve
    context = with_catalogs(context)
    for name in names:
        load_dialects(module.context, catalog.resolve(name).dialects, module.module)
    resolved = [catalog.resolve(name) for name in names]
    for passes in _pipelines(resolved, costs, codegen, options):
        _with_passes_of(resolved, passes).run(module, context)
    warn_of(context.warnings if own else ())
    return module


def check_backends(backends: Iterable[str | Backend | type[Backend]],
                   options: Mapping[str, str] | None = None) -> tuple[list[str], BackendCatalog]:
    """The names of the backends that a call is given, and their catalog. LegatoError for unknown ones, and for options that a backend does
    not have."""
    if isinstance(backends, (str, type, Backend)):
        one = f"'{backends}'" if isinstance(backends, str) else backends.name if isinstance(backends, Backend) else backends.__name__
        raise LegatoError(f"backends= takes several, in order of priority, and found one alone: write backends=[{one}]")
    if not isinstance(backends, Iterable):
        raise LegatoError(f"backends= takes a list of backends or their names, in order of priority; found {backends!r}")
    if not isinstance(options or {}, Mapping):
        raise LegatoError(f"backend_options= maps names of backends to text, such as {{'npu': 'tile=16'}}; found {options!r}")
    given = list(backends)
    catalog = BackendCatalog(given)
    names = [one if isinstance(one, str) else one.name for one in given]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice:
        raise LegatoError(f"the backend '{twice}' is given twice")
    unknown = [n for n in options or {} if n not in names]
    if unknown:
        raise LegatoError(f"options for '{unknown[0]}', which is none of the backends: {', '.join(names)}")
    for name in names:
        _, rest = settings((options or {}).get(name, ""), name)
        backend = catalog.resolve(name)
        check_options(backend, read_options(rest))
        pipeline_of(backend)
        before_of(backend)
    return names, catalog


def passes_for(names: Sequence[str], costs: Iterable[ModulePass] = (), codegen: bool = True,
               options: Mapping[str, str] | None = None) -> list[list[ModulePass]]:
    """The passes that partition a graph for backends of these names, as pipelines; the IR is verified after each."""
    if isinstance(costs, str | ModulePass) or not isinstance(costs, Iterable):
        raise LegatoError(f"costs= takes a list of passes, such as [OnlyLarge()]; found {costs!r}")
    given = {name: settings((options or {}).get(name, ""), name) for name in names}
    matching: list[ModulePass] = [FuseByPattern(BackendName(name)) for name in names]
    small = [VetoSmall(name, given[name][0]) for name in names]
    merging: list[ModulePass] = [*costs, *(MergeComposites(name) for name in names), *small, OutlineExternal()]
    generating: list[ModulePass] = [RunCodegen(BackendName(name), given[name][1]) for name in names]
    return [matching, merging, generating] if codegen else [matching, merging]


def settings(text: str, backend: str) -> tuple[int, str]:
    """The options of a backend as the fewest ops of its groups (0: not given) and the rest, for code generation. LegatoError for a number
    that is none."""
    if not isinstance(text, str):
        raise LegatoError(f"the backend '{backend}': its options are text, such as 'tile=16 level=2'; found {text!r}")
    least, rest = 0, []
    for item in text.split():
        key, _, value = item.partition("=")
        if key != "min_ops":
            rest.append(item)
        elif value.isdecimal() and int(value):
            least = int(value)
        else:
            raise LegatoError(f"the backend '{backend}': min_ops is '{value}', expected the fewest ops of a group, 1 or more")
    return least, " ".join(rest)


def partition_passes(backends: Iterable[str | Backend | type[Backend]], options: Mapping[str, str] | None = None) -> PassPipeline:
    """The passes by which a compile gives parts of a graph to backends, as one pipeline."""
    names, catalog = check_backends(backends, options)
    resolved = [catalog.resolve(name) for name in names]
    return _with_passes_of(resolved, [one for passes in _pipelines(resolved, options=options) for one in passes])


def _pipelines(backends: Sequence[Backend], costs: Iterable[ModulePass] = (), codegen: bool = True,
               options: Mapping[str, str] | None = None) -> Iterator[Sequence[str | ModulePass]]:
    """The pipelines that partition a graph, in order. Backends side by side that want the same passes before are matched and merged
    together; what they take is outlined before the graph is changed for the next ones."""
    for text, together in groupby(backends, lambda one: str(before_of(one))):
        yield [text] if text else []
        yield from passes_for([one.name for one in together], costs, codegen, options or {})


def _with_passes_of(backends: Iterable[Backend], passes: Sequence[str | ModulePass]) -> PassPipeline:
    return PassPipeline(passes, extra_passes=dict.fromkeys(one for backend in backends for one in backend.passes))
