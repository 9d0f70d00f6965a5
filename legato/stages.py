"""The pipeline of a compile: a target's stages, each with the passes that lead to it."""
from collections.abc import Mapping, Sequence
from typing import Any

from legato.core.errors import LegatoError
from legato.core.user_code import prefixed
from legato.host_device import settled
from legato.passes.pipeline.base import ModulePass
from legato.passes.pipeline.pipeline import PassPipeline, PipelineError
from legato.targets.backend import GivenBackend
from legato.targets.catalog import Catalog
from legato.targets.target import Target

Stages = list[tuple[str, PassPipeline]]


GivenPasses = str | ModulePass | Sequence[Any]  # what a pipeline is made of
PassesAt = GivenPasses | Mapping[str, GivenPasses]  # passes for a graph, or by the names of stages


def stages_of(target: Target, from_stage: str | None = None, last: str | None = None, verify_each: bool = False,
              passes: PassesAt = ()) -> Stages:
    """The stages of a target, completed by a catalog, after ``from_stage`` (None: after a graph) up to and including ``last`` (None: the
    end).

    The passes get the target as a value. ``passes``: by stage, to run at its end; others are left out. LegatoError for a target without a
    pipeline, and for an unknown stage.
    """
    stages = target.templates(last)
    if not stages:
        known = Catalog()
        hint = ""
        if target.name in known.names() and known.resolve(target.name).templates():
            hint = f"; legato.Target makes a new target, and Legato's own is named by its text: target=\"{target.name}\""
        raise LegatoError(f"the target '{target.name}' has no pipeline of its own, nor has one of its parents "
                          f"({' -> '.join(t.name for t in target.chain())}){hint}")
    if from_stage is not None:
        start = target.stage(from_stage)
        names = [name for name, _ in stages]
        stages = stages[names.index(start) + 1:] if start in names else []
    added = {target.stage(name): given for name, given in passes.items()} if isinstance(passes, Mapping) else {}
    return [(name, _passes_of(name, text, added.get(name, ()), target, verify_each)) for name, text in stages]


def _passes_of(stage: str, text: str, added: GivenPasses, target: Target, verify_each: bool) -> PassPipeline:
    """The passes of a stage, and those that a call adds at its end. A PipelineError names the stage where its own are wrong."""
    try:
        return passes_for([text, added], target, verify_each)
    except PipelineError as error:
        try:
            passes_for(text, target, verify_each)
        except PipelineError:
            raise prefixed(error, f"target '{target.name}': its stage '{stage}'") from error
        raise


def passes_for(passes: GivenPasses, target: Target, verify_each: bool = False) -> PassPipeline:
    """A pipeline whose passes may name the target's own classes, and get the target as a value for ``%s``."""
    return PassPipeline(passes, extra_passes=target.pass_classes(), verify_each=verify_each, target=target)


def pipeline_text(target: str | Target, backends: Sequence[GivenBackend] = (), only: str | None = None,
                  backend_options: Mapping[str, str] | None = None) -> str:
    """The passes of a compile as the text of one pipeline: one pass in a line, each stage under a comment.

    ``backends``: what the graph is partitioned for, first of all. ``only``: one stage, from the one before. LegatoError for an unknown
    target or stage.
    """
    from legato.partitioning import partition_passes

    resolved = settled(Catalog([target] if isinstance(target, Target) else ()).resolve(target))
    stages = stages_of(resolved)
    if backends:
        stages = [("partitioned", partition_passes(backends, backend_options)), *stages]
    names = [name for name, _ in stages]
    if only is not None and only not in names:
        only = resolved.stage(only)
    chosen = [(name, [str(step) for step in passes.steps]) for name, passes in stages if only in (None, name)]
    return ",\n".join(f"// {name}\n" + ",\n".join(steps) for name, steps in chosen)
