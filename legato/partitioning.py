"""``legato.partition``: gives parts of a model to external compilers and libraries."""
from __future__ import annotations

from collections.abc import Iterable, Mapping

from legato.core.errors import LegatoError
from legato.dialects.module import Module
from legato.passes.partition.fuse_by_pattern import FuseByPattern
from legato.passes.partition.merge_composites import MergeComposites
from legato.passes.partition.outline_external import OutlineExternal
from legato.passes.partition.run_codegen import RunCodegen
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.pipeline import Pipeline
from legato.targets.backend import Backend
from legato.targets.backend_catalog import BackendCatalog
from legato.targets.catalog import Catalog

BEFORE = "relax-infer-shapes,relax-fold-constants,relax-canonicalize"  # run by ``legato.compile`` before patterns are matched


def partition(module: Module, backends: Iterable[str | Backend | type[Backend]], *, costs: Iterable[ModulePass] = (), codegen: bool = True,
              options: Mapping[str, str] | None = None, context: PassContext | None = None) -> Module:
    """Gives parts of ``module`` to backends, in place, and returns it.

    ``backends``: values, classes or names, in order of priority. ``costs``: passes between matching and merging, which may veto groups
    (see passes/partition/costs.py). ``codegen``: False leaves the external modules without generated code. ``options``: for code
    generation, by backend's name (``{"npu": "tile=16"}``). May be called again, with passes in between. ``context.report["partition"]``
    records what was done. Raises LegatoError.
    """
    given = list(backends)
    catalog = BackendCatalog(given)
    names = [one if isinstance(one, str) else one.name for one in given]
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice:
        raise LegatoError(f"the backend '{twice}' is given twice")
    unknown = [n for n in options or {} if n not in names]
    if unknown:
        raise LegatoError(f"options for '{unknown[0]}', which is none of the backends: {', '.join(names)}")
    if context is None:
        context = PassContext(resolve_target=Catalog().resolve, resolve_backend=catalog.resolve)
    else:
        context.resolve_backend = context.resolve_backend or catalog.resolve
        context.resolve_target = context.resolve_target or Catalog().resolve
    found = [catalog.resolve(name) for name in names]
    Pipeline([FuseByPattern(backend.name) for backend in found]).run(module, context)
    Pipeline([*costs, *(MergeComposites(name) for name in names), OutlineExternal()]).run(module, context)
    if codegen:
        Pipeline([RunCodegen(name, (options or {}).get(name, "")) for name in names]).run(module, context)
    return module
