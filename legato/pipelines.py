"""``legato.Pipeline``: passes in order, with the targets and backends that this process knows."""
from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from legato.core.errors import LegatoError
from legato.core.user_code import warn_of
from legato.dialects.module import Module
from legato.passes.pipeline.base import PassContext
from legato.passes.pipeline.pipeline import PassPipeline
from legato.targets.backend import GivenBackend
from legato.targets.backend_catalog import BackendCatalog
from legato.targets.catalog import Catalog
from legato.targets.target import Target

if TYPE_CHECKING:
    from legato.checking.checker import PassChecker


class Pipeline(PassPipeline):
    __doc__ = f"""{PassPipeline.__doc__}
    `targets` and `backends` are values that options may name (``{{target=npu}}``) besides those that are registered, installed, or come
    with Legato. `target` is a text or a value. `check`: True, or a ``legato.PassChecker``, runs what the module computes before and
    after each pass (docs/checking.md): ``CheckFailed`` for a pass that changes it.
    """

    def __init__(self, passes: Any, *, targets: Iterable[Target] = (), backends: Iterable[GivenBackend] = (),
                 target: str | Target | None = None, extra_passes: Iterable[type] = (),
                 check: bool | PassChecker = False, **settings: Any):
        for name, given in (("targets", targets), ("backends", backends), ("extra_passes", extra_passes)):
            if isinstance(given, str | type) or not isinstance(given, Iterable):
                raise LegatoError(f"{name}= takes several, and found {given!r}: write {name}=[...]")
        if strange := [one for one in targets if not isinstance(one, Target)]:
            raise LegatoError(f"targets= takes values, legato.Target(...), and found {strange[0]!r}")
        self._targets = (*targets, target) if isinstance(target, Target) else tuple(targets)
        self._backends = tuple(backends)
        resolved = None if target is None else Catalog(self._targets).resolve(target)
        named = [one for value in self._targets for one in value.passes] if resolved is None else resolved.pass_classes()
        if check:
            from legato.checking.checker import PassChecker

            settings["observer"] = PassChecker(target=str(resolved or "llvm")) if check is True else check
        super().__init__(passes, extra_passes=dict.fromkeys((*extra_passes, *named)), target=resolved, **settings)

    def check(self, context: PassContext | None = None) -> None:
        """Resolves the targets in the options. LegatoError for an unknown one."""
        super().check(with_catalogs(context or PassContext(), self._targets, self._backends))

    def run(self, module: Module, context: PassContext | None = None) -> None:
        """Runs the passes on `module`, in place.

        The dialects of the targets in the passes' options are loaded into the module's context. Raises PassFailed, or the LegatoError
        that a pass raised (with a note that names the pass). The module is then in an undefined state. Warnings are added to those of the
        context; without one, they are Python's.
        """
        if not isinstance(module, Module):
            raise LegatoError(f"a pipeline runs on a legato.Module, in place, not on {type(module).__name__}")
        if context is not None and not isinstance(context, PassContext):
            raise LegatoError(f"the context of a run is a PassContext of {PassContext.__module__}, not {type(context).__name__}")
        used = with_catalogs(context or PassContext(), self._targets, self._backends)
        super().run(module, used)
        if context is None:
            warn_of(used.warnings)


def with_catalogs(context: PassContext, targets: Iterable[Target] = (), backends: Iterable[GivenBackend] = ()) -> PassContext:
    """The context, which looks targets and backends up among the given ones and all that this process knows, unless it has a way of its
    own. The catalogs are made at the first look-up."""
    catalog: list[Catalog] = []
    backend_catalog: list[BackendCatalog] = []

    def resolve_target(text: str) -> Target:
        if not catalog:
            catalog.append(Catalog(targets))
        return catalog[0].resolve(text)

    def resolve_backend(name: str) -> Any:
        if not backend_catalog:
            backend_catalog.append(BackendCatalog(backends))
        return backend_catalog[0].resolve(name)

    context.resolve_target = context.resolve_target or resolve_target
    context.resolve_backend = context.resolve_backend or resolve_backend
    return context
