"""The driver behind ``legato.compile``: runs a target's standard pipeline and makes an executable."""
import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from legato.core.errors import LegatoError
from legato.core.mlir import llvm
from legato.dialects.loading import load_dialects
from legato.dialects.module import Module
from legato.dialects.relax.markers import SIGNATURE
from legato.passes.legalize.conversion import RuleError
from legato.passes.partition.artifacts import listed, strip_external
from legato.passes.pipeline.base import ModulePass, PassContext
from legato.passes.pipeline.pipeline import PassPipeline
from legato.stages import PassesAt, passes_for, stages_of
from legato.targets.backend import GivenBackend
from legato.targets.catalog import Catalog, GivenRules
from legato.targets.explain import Explanation, explanation
from legato.targets.target import Target

if TYPE_CHECKING:
    from legato.runtime import Executable

Progress = Callable[[str, float], None]


@dataclass
class Report:
    """A record of a compile. ``stages``, ``passes``: (name, seconds); ``kernels``: names; ``details``: by pass."""

    stages: list[tuple[str, float]] = field(default_factory=list)
    passes: list[tuple[str, float]] = field(default_factory=list)
    kernels: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)
    target: Target | None = None

    @property
    def seconds(self) -> float:
        """The total time of all stages."""
        return sum(s for _, s in self.stages)


def lower(module: Module, target: str | Target = "llvm", *, rules: GivenRules = (), backends: Sequence[GivenBackend] = (),
          costs: Sequence[ModulePass] = (), backend_options: Mapping[str, str] | None = None, passes: PassesAt = (),
          first: str | None = None, last: str | None = None, progress: Progress | None = None, verify_each: bool = False,
          report: Report | None = None) -> Module:
    """A copy of ``module``, lowered by the target's pipeline to the end, or to the stage ``last``; other parameters as in ``compile``.

    ``first``: the stage that the module is at (``"fused"``: the output of ``--emit fused``); None for a graph.
    """
    catalog = Catalog([target] if isinstance(target, Target) else (), rules)
    report = report if report is not None else Report()
    give = partial(give_to_backends, backends=backends, costs=costs, options=backend_options) if backends else None
    return _lower(module, catalog.resolve(target), catalog, give, passes, first, last, progress, verify_each, report)


def _lower(module: Module, target: Target, catalog: Catalog, give: Callable[[Module, PassContext], None] | None, passes: PassesAt,
           first: str | None, last: str | None, progress: Progress | None, verify_each: bool, report: Report) -> Module:
    """``lower`` for a target that is looked up. ``catalog``: for other targets that a stage's passes may name; ``give``: partitions."""
    stages = stages_of(target, first, last, verify_each, passes)
    before = None if isinstance(passes, Mapping) else passes_for(passes, target, verify_each)
    report.target = target
    result = own_copy(module)
    check_start(result, first)
    load_dialects(result.context, target.known_dialects())
    context = PassContext(resolve_target=catalog.resolve, report=report.details)

    def run(name: str, work: Callable[[], Any]) -> None:
        begin = time.perf_counter()
        work()
        seconds = time.perf_counter() - begin
        report.stages.append((name, seconds))
        if progress:
            progress(name, seconds)

    if before is not None and before.steps:
        run("passes", partial(before.run, result, context))
    if give is not None:
        run("partition", partial(give, result, context))
    for name, pipeline in stages:
        run(name, partial(pipeline.run, result, context))
    report.passes = context.times
    report.kernels = list(context.report.get("schedule", {}))
    return result


def check_start(module: Module, first: str | None) -> None:
    """LegatoError for a module that the pipeline cannot start with: one without ``@main``, or lowered already without ``first``."""
    functions = {f.name.value: f for f in module.functions()}
    if first is None and "main" not in functions:
        there = ", ".join(f"@{name}" for name in functions) or "no function"
        raise LegatoError(f"what is compiled is the function @main, and the module has {there}")
    if first is None and any(SIGNATURE in f.attributes for f in functions.values()):
        raise LegatoError("the module is past the graph already: say which stage it has reached (legato-compile --from STAGE, "
                          "lower(first=...)), or go on with legato-opt")


def own_copy(module: Any) -> Any:
    """A copy of a module, or the module made by a script function. LegatoError for any other value."""
    if isinstance(module, Module):
        return module.clone()
    make = getattr(module, "module", None)
    if not callable(make):
        raise LegatoError("what is compiled is a legato.Module (legato.from_onnx makes one of a file or a ModelProto) or a function of "
                          f"legato.script, not {type(module).__name__}")
    return make()


def give_to_backends(module: Module, context: PassContext, backends: Sequence[GivenBackend], costs: Sequence[ModulePass] = (),
                     options: Mapping[str, str] | None = None) -> None:
    """Partitions a module as ``legato.partition`` does, after the passes that patterns rely on."""
    from legato.partitioning import BEFORE, partition

    PassPipeline(BEFORE).run(module, context)
    partition(module, backends, costs=costs, options=options, context=context)


def compile(module: Module, target: str | Target = "llvm", *, rules: GivenRules = (), backends: Sequence[GivenBackend] = (),
            costs: Sequence[ModulePass] = (), backend_options: Mapping[str, str] | None = None, passes: PassesAt = (),
            first: str | None = None, progress: Progress | None = None, verify_each: bool = False) -> "Executable":
    """Compiles ``module`` to native code. Returns an executable.

    ``target``: text (``"llvm{threads=2}"``) or a value. ``rules``: for this compile only, tried before all others: rule values, or a map
    from op names to functions (``{"relax.softmax": fn}``). ``backends``: backends for parts of the graph, in order of priority:
    ``Backend`` values, classes or names (``"onnxruntime"``); ``costs``, ``backend_options``: cost passes and options for them, as
    ``legato.partition`` takes them. ``passes``: what a ``Pipeline`` is made of, to run on the graph first of all;
    or a map from the names of the target's stages to such passes, which run at the end of those stages (``{"fused": "my-pass"}``).
    ``first``: the stage that the module is at. ``progress(stage, seconds)`` is called after each stage. The module is not changed. Raises
    ``LegatoError``; ``UnsupportedError`` if the model needs something that Legato does not support.
    """
    from legato.codegen.jit import jit

    report = Report()
    catalog = Catalog([target] if isinstance(target, Target) else (), rules)
    resolved = with_usable_threads(catalog.resolve(target))
    refuse_elsewhere(resolved)
    give = partial(give_to_backends, backends=backends, costs=costs, options=backend_options) if backends else None
    lowered = _lower(module, resolved, catalog, give, passes, first, None, progress, verify_each, report)
    artifacts = listed(lowered)
    strip_external(lowered)
    begin = time.perf_counter()
    executable = jit(lowered.module, lowered.weights, artifacts=artifacts)
    report.stages.append(("native", time.perf_counter() - begin))
    if progress:
        progress(*report.stages[-1])
    executable.report = report
    executable.explanation = explanation(report.target, report.details)
    return executable


def refuse_elsewhere(target: Target) -> None:
    """LegatoError for a target whose code this process cannot call."""
    stages = target.templates()
    if stages and not target.runs_here:
        raise LegatoError(f"code for the target '{target.name}' cannot be run here yet: it can be printed, by "
                          f"legato.lower(module, '{target.name}') or legato-compile --target {target.name} --emit {stages[-1][0]}")


def with_usable_threads(target: Target) -> Target:
    """The target with as many threads as this process supports: one, with a warning, if there is no OpenMP runtime."""
    from legato.runtime.threads import usable_threads

    asked = target.options.get("threads", 1)
    usable = usable_threads(asked)
    return target if usable == asked else replace(target, options={**target.options, "threads": usable})


def explain(module: Module, target: str | Target = "llvm", *, rules: GivenRules = (), backends: Sequence[GivenBackend] = (),
            costs: Sequence[ModulePass] = (), backend_options: Mapping[str, str] | None = None, passes: PassesAt = (),
            last: str | None = None) -> Explanation:
    """The rules that the target applies to each op of ``module``, with file and line, and why others declined; likewise the patterns of
    ``backends``.

    The target's pipeline runs to its end, or to the stage ``last`` (``"legalized"``: graph ops only), on a copy. Ops without a rule are
    records without a rule, not an error.
    """
    report = Report()
    with contextlib.suppress(RuleError):
        lower(module, target, rules=rules, backends=backends, costs=costs, backend_options=backend_options, passes=passes, last=last,
              report=report)
    return explanation(report.target, report.details)


def device_code(module: Module) -> dict[str, str]:
    """The LLVM IR of each gpu.module of a fully lowered module, by name."""
    found = [op for op in module.module.body.operations if op.operation.name == "gpu.module"]
    return {op.attributes["sym_name"].value: _translated(op) for op in found}


def ptx(module: Module, target: Target) -> str:
    """The PTX of a fully lowered module's kernels, for the chip in the target's options. LegatoError: see ``codegen.ptx``."""
    from legato.codegen.ptx import ptx

    device = device_code(module)
    if not device or "chip" not in target.options:
        raise LegatoError(f"PTX is made of kernels for NVIDIA's GPUs; lowered for '{target.name}', the module has none")
    return ptx(list(device.values()), target.options["chip"])


def llvm_ir(module: Module) -> str:
    """The LLVM IR of a fully lowered module; of its gpu.modules, if it has some. LegatoError for ops of other dialects."""
    device = device_code(module)
    if device:
        return "\n".join(f"; gpu.module @{name}\n{code}" for name, code in device.items())
    module = module.clone()
    strip_external(module)
    other = next((op for op in module.module.body.operations if not op.operation.name.startswith("llvm.")), None)
    if other is not None:  # upstream's translation crashes on ops of other dialects
        raise LegatoError(f"LLVM IR is made of a module that holds only the llvm dialect; it has {other.operation.name}")
    return _translated(module.module)


def _translated(module: Any) -> str:
    with module.operation.context:
        return llvm.translate_module_to_llvmir(module.operation)
