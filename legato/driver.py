"""What stands behind ``legato.compile``: the standard pipeline of a target, stage by stage, and the executable at its end."""
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .dialects.errors import LegatoError
from .dialects.module import Module
from .mlir import llvm
from .passes.base import PassContext
from .passes.pipeline import Pipeline
from .targets.builtin import TARGETS
from .targets.target import Target, nearest, parse_target

if TYPE_CHECKING:
    from .runtime import Executable

Progress = Callable[[str, float], None]


@dataclass
class Report:
    """What a compile did. ``stages``: (name, seconds); ``passes``: the same, pass by pass; ``kernels``: names; ``details``: by pass."""

    stages: list[tuple[str, float]] = field(default_factory=list)
    passes: list[tuple[str, float]] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def seconds(self) -> float:
        return sum(s for _, s in self.stages)


def resolve_target(text: str | Target, extra: Iterable[Target] = ()) -> Target:
    """The target that ``text`` names, among those that come with Legato and ``extra``."""
    return parse_target(text, (*TARGETS, *extra))


def lower(module: Module, target: str | Target = "llvm", *, last: str | None = None, progress: Progress | None = None,
          verify_each: bool = False, report: Report | None = None) -> Module:
    """A copy of ``module``, lowered by the target's pipeline to the end, or to the stage ``last``."""
    resolved = resolve_target(target)
    stages = resolved.pipeline(last)
    if not stages:
        raise LegatoError(f"the target '{resolved.name}' has no pipeline of its own, nor has an ancestor; "
                          f"compile for one of: {', '.join(t.name for t in TARGETS if t.stages)}{nearest(resolved.name, ())}")
    report = report if report is not None else Report()
    result = module.clone()
    context = PassContext(resolve_target=lambda text: resolve_target(text))
    for name, text in stages:
        begin = time.perf_counter()
        Pipeline(text, verify_each=verify_each).run(result, context)
        seconds = time.perf_counter() - begin
        report.stages.append((name, seconds))
        if progress:
            progress(name, seconds)
    report.passes = context.times
    report.details = context.report
    report.kernels = list(context.report.get("schedule", {}))
    return result


def compile(module: Module, target: str | Target = "llvm", *, progress: Progress | None = None, verify_each: bool = False) -> "Executable":
    """Native code for ``module``: an executable, ready to be called.

    ``target``: text (``"llvm{threads=2}"``) or a value. ``progress(stage, seconds)`` is called behind each stage. The module is left as it
    is. Raises ``LegatoError``; ``UnsupportedError`` where the model asks for what Legato does not do.
    """
    from .runtime.jit import jit

    report = Report()
    resolved = resolve_target(target)
    lowered = lower(module, resolved, progress=progress, verify_each=verify_each, report=report)
    begin = time.perf_counter()
    executable = jit(lowered.module, lowered.weights)
    report.stages.append(("native", time.perf_counter() - begin))
    if progress:
        progress(*report.stages[-1])
    executable.report = report
    return executable


def llvm_ir(module: Module) -> str:
    """The LLVM IR of a fully lowered module, as text."""
    other = next((op for op in module.module.body.operations if not op.operation.name.startswith("llvm.")), None)
    if other is not None:  # upstream's translation crashes on what it cannot translate
        raise LegatoError(f"LLVM IR is made of a module that holds only the llvm dialect; it has {other.operation.name}")
    with module.context:
        return llvm.translate_module_to_llvmir(module.module.operation)
