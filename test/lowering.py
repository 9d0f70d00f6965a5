"""A module on its way through a target's pipeline, for tests that look at it at several stages, or look at it and then run it."""
from functools import cached_property

import legato
from legato.dialects import Module
from legato.report import Report
from legato.runtime import Executable
from legato.targets.catalog import Catalog
from legato.targets.explain import Explanation, explanation


class Lowering:
    """Each stage goes on from the last one before it that was asked for, so that a test lowers a module once. What may change how it is
    lowered (a constant that a test replaces) has to be as it is before the first look.

        lowering = Lowering(legato.from_onnx(model), "llvm{threads=2}")
        assert "scf.forall" in str(lowering.at("scheduled"))
        y = lowering.executable(x)
    """

    def __init__(self, module: Module, target: str = "llvm", from_stage: str | None = None):
        """``from_stage``: the stage that the module is at; None for a graph."""
        self.target = target
        self._named = Catalog().resolve(target)
        self._stages = [None, *(name for name, _ in self._named.templates())]
        self._made: dict[str | None, Module] = {from_stage: module}
        self._report = Report()

    def at(self, stage: str | None = None) -> Module:
        """The module after a stage, or at the pipeline's end. LegatoError if there is no such stage."""
        name = self._stages[-1] if stage is None else self._named.stage(stage)
        if name not in self._made:
            before = self._latest(self._stages[:self._stages.index(name)])
            self._made[name] = legato.lower(self._made[before], self.target, from_stage=before, last=name, report=self._report)
        return self._made[name]

    @property
    def explained(self) -> Explanation:
        """What ``legato.explain`` tells of the stages that were asked for."""
        assert self._report.target is not None
        return explanation(self._report.target, self._report.details)

    @cached_property
    def executable(self) -> Executable:
        """The compiled module. Its report and explanation begin behind the last stage that was asked for."""
        before = self._latest(self._stages)
        return legato.compile(self._made[before], self.target, from_stage=before)

    def _latest(self, stages: list[str | None]) -> str | None:
        """The last of these stages that there is a module of."""
        return next(name for name in reversed(stages) if name in self._made)
