"""The pipeline of a compile: a target's stages, each with the passes that lead to it."""
from collections.abc import Sequence

from legato.core.errors import LegatoError
from legato.passes.pipeline.pipeline import Pipeline
from legato.targets.backend import GivenBackend
from legato.targets.catalog import Catalog
from legato.targets.target import Target

Stages = list[tuple[str, Pipeline]]


def stages_of(target: Target, first: str | None = None, last: str | None = None, verify_each: bool = False) -> Stages:
    """The stages after ``first`` (None: after a graph) up to and including ``last`` (None: the end), of a target completed by a catalog.

    The passes get the target as a value. LegatoError for a target without a pipeline, and for an unknown stage.
    """
    stages = target.templates(last)
    if not stages:
        raise LegatoError(f"the target '{target.name}' has no pipeline of its own, nor has one of its parents "
                          f"({' -> '.join(t.name for t in target.chain())})")
    if first is not None:
        start = target.stage(first)
        names = [name for name, _ in stages]
        stages = stages[names.index(start) + 1:] if start in names else []
    return [(name, Pipeline(text, verify_each=verify_each, target=target)) for name, text in stages]


def pipeline_text(target: str | Target, backends: Sequence[GivenBackend] = (), only: str | None = None) -> str:
    """The passes of a compile as the text of one pipeline: one pass in a line, each stage under a comment.

    ``backends``: what the graph is partitioned for, first of all. ``only``: one stage, from the one before. LegatoError for an unknown
    target or stage.
    """
    from legato.partitioning import partition_passes

    resolved = Catalog([target] if isinstance(target, Target) else ()).resolve(target)
    stages = stages_of(resolved)
    if backends:
        stages = [("partitioned", partition_passes(backends)), *stages]
    names = [name for name, _ in stages]
    if only is not None and only not in names:
        only = resolved.stage(only)
    chosen = [(name, [str(step) for step in passes.steps]) for name, passes in stages if only in (None, name)]
    return ",\n".join(f"// {name}\n" + ",\n".join(steps) for name, steps in chosen)
