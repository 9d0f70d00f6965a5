"""The driver behind ``legato.compile``: runs a target's standard pipeline and makes an executable."""
import contextlib
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from legato.codegen.device_code import device_code, translated
from legato.compilable import Compilable, own_copy
from legato.core.collector import seldom_collecting
from legato.core.deprecated import renamed_argument
from legato.core.errors import LegatoError
from legato.core.given import check_function, path_of
from legato.core.user_code import warn_of
from legato.dialects.loading import load_dialects
from legato.dialects.module import Module
from legato.dialects.relax.markers import SIGNATURE
from legato.host_device import settled
from legato.passes.legalize.conversion import RuleError
from legato.passes.partition.artifacts import listed, strip_external
from legato.passes.pipeline.base import ModulePass, PassContext, PassObserver
from legato.passes.pipeline.instrumentation import Instrumentation, check_instrumentation
from legato.passes.pipeline.reproducer import Reproduction
from legato.report import Progress, Report, preparing
from legato.stages import PassesAt, passes_for, stages_of
from legato.targets.backend import GivenBackend
from legato.targets.catalog import Catalog, GivenRules
from legato.targets.explain import Explanation, explanation
from legato.targets.target import Target

if TYPE_CHECKING:
    from legato.runtime import Executable

LOGGER = logging.getLogger(__name__)
HOST = "llvm{cpu=x86-64}"   # what calls a device's engine: a saved model runs beside any CPU


def lower(module: Compilable, target: str | Target = "llvm", *, rules: GivenRules = (), backends: Sequence[GivenBackend] = (),
          costs: Sequence[ModulePass] = (), backend_options: Mapping[str, str] | None = None, passes: PassesAt = (),
          from_stage: str | None = None, last: str | None = None, progress: Progress | None = None, verify_each: bool = False,
          report: Report | None = None, instrumentation: Instrumentation | None = None,
          reproducer: str | Path | Reproduction | None = None, check: PassObserver | None = None, first: str | None = None) -> Module:
    """A copy of ``module``, lowered by the target's pipeline to the end, or to the stage ``last``; other parameters as in ``compile``.

    ``from_stage``: the stage that the module is at (``"fused"``: that of ``--emit fused``); None for a graph; ``first``: the old name.
    """
    from_stage = renamed_argument(from_stage, "first", first, "from_stage")
    catalog = Catalog([target] if isinstance(target, Target) else (), rules)
    report = report if report is not None else Report()
    give = _partitioning(backends, costs, backend_options)
    context = _context(catalog.resolve, report.details, instrumentation, reproducer, check, progress)
    with seldom_collecting():
        return _lower(module, settled(catalog.resolve(target)), context, give, passes, from_stage, last, progress, verify_each, report)


def reproduction(reproducer: str | Path | Reproduction | None) -> Reproduction | None:
    """Where to write a reproducer, by its path."""
    return reproducer if reproducer is None or isinstance(reproducer, Reproduction) else Reproduction(path_of(reproducer, "reproducer="))


def _context(resolve_target: Callable[[str], Target], details: dict[str, Any], instrumentation: Instrumentation | None,
             reproducer: str | Path | Reproduction | None, check: PassObserver | None, progress: Progress | None) -> PassContext:
    """The passes' context. LegatoError for an argument of another kind."""
    check_function(progress, "progress= is called with the name of a stage and its seconds")
    check_instrumentation(instrumentation)
    if check is not None and not isinstance(check, PassObserver):
        raise LegatoError(f"check= takes a legato.PassChecker(...), not {type(check).__name__}")
    return PassContext(resolve_target, report=details, instrumentation=instrumentation, reproduction=reproduction(reproducer),
                       observer=check)


def _lower(module: Module, target: Target, context: PassContext, give: Callable[[Module, PassContext], None] | None, passes: PassesAt,
           from_stage: str | None, last: str | None, progress: Progress | None, verify_each: bool, report: Report) -> Module:
    """``lower`` for a target that is looked up. ``context``: looks up other targets that a stage's passes may name; ``give``:
    partitions."""
    with preparing(progress):
        from legato.codegen.search import begin_for

        stages = stages_of(target, from_stage, last, verify_each, passes)
        before = None if isinstance(passes, Mapping) else passes_for(passes, target, verify_each)
        report.target = target
        if give is not None and from_stage is not None and target.stage(from_stage) != target.templates()[0][0]:
            raise LegatoError(f"backends= take parts of a graph, and from_stage={from_stage} is past that: a backend's parts are taken "
                              "first")
        result = own_copy(module)
        begin_for(result.module)
        check_start(result, from_stage)
        load_dialects(result.context, target.known_dialects(), result.module)

    def run(name: str, work: Callable[[], Any]) -> None:
        done = len(context.times)
        report.run(name, work, progress)
        report.stage_passes[name] = context.times[done:]

    LOGGER.info("target %s, stages %s", target, ", ".join(name for name, _ in stages))
    if before is not None and before.steps:
        run("passes", partial(before.run, result, context))
    if give is not None:
        run("partition", partial(give, result, context))
    for name, pipeline in stages:
        run(name, partial(pipeline.run, result, context))
    warn_of(context.warnings)
    report.passes = context.times
    report.kernels = list(context.report.get("schedule", {}))
    return result


def check_start(module: Module, from_stage: str | None) -> None:
    """LegatoError for a module that the pipeline cannot start with: one without ``@main``, or lowered already without
    ``from_stage``."""
    functions = {f.name.value: f for f in module.functions()}
    if from_stage is None and "main" not in functions:
        there = ", ".join(f"@{name}" for name in functions) or "no function"
        raise LegatoError(f"what is compiled is the function @main, and the module has {there}")
    if from_stage is None and any(SIGNATURE in f.attributes for f in functions.values()):
        raise LegatoError("the module is past the graph already: say which stage it has reached (legato-compile --from-stage "
                          "STAGE, lower(from_stage=...)), or go on with legato-opt")


def _partitioning(backends: Sequence[GivenBackend], costs: Sequence[ModulePass],
                  options: Mapping[str, str] | None) -> Callable[[Module, PassContext], None] | None:
    """What gives parts of a graph to the backends; None without backends. LegatoError for what only goes with backends."""
    if backends:
        from legato.partitioning import check_backends

        check_backends(backends, options)
        return partial(give_to_backends, backends=backends, costs=costs, options=options)
    for name, given in (("costs", costs), ("backend_options", options)):
        if given:
            raise LegatoError(f"{name}= is about the parts that backends take, and no backends= are given")
    return None


def give_to_backends(module: Module, context: PassContext, backends: Sequence[GivenBackend], costs: Sequence[ModulePass] = (),
                     options: Mapping[str, str] | None = None) -> None:
    """Partitions a module as ``legato.partition`` does."""
    from legato.partitioning import partition

    partition(module, backends, costs=costs, options=options, context=context)


def compile(module: Compilable, target: str | Target = "llvm", *, rules: GivenRules = (), backends: Sequence[GivenBackend] = (),
            costs: Sequence[ModulePass] = (), backend_options: Mapping[str, str] | None = None, passes: PassesAt = (),
            from_stage: str | None = None, progress: Progress | None = None, verify_each: bool = False, cache: bool = True,
            instrumentation: Instrumentation | None = None, reproducer: str | Path | Reproduction | None = None,
            check: PassObserver | None = None, first: str | None = None) -> "Executable":
    """Compiles ``module`` to native code. Returns an executable. The module is not changed.

    - ``target``: text (``"llvm{threads=2}"``) or a value.
    - ``rules``: for this compile only, tried before all others: rule values, or a map from op names to functions
      (``{"relax.softmax": fn}``).
    - ``backends``: for parts of the graph, in order of priority: ``Backend`` values, classes or names (``"onnxruntime"``); ``costs``,
      ``backend_options``: cost passes and options for them, as ``legato.partition`` takes them.
    - ``passes``: what a ``Pipeline`` is made of, to run on the graph first of all; or a map from the names of the target's stages to such
      passes, which run at the end of those stages (``{"fused": "my-pass"}``).
    - ``from_stage``: the stage that the module is at (``first``: its old name); None: a graph.
    - ``progress(stage, seconds)`` is called after each stage.
    - ``verify_each``: verify the IR after each pass. ``instrumentation``: prints the IR around passes. ``reproducer``: a file for the IR
      before a pass that fails, for ``legato-opt --run-reproducer``; this costs a copy of the IR before each pass.
      ``check``: a ``PassChecker``, which runs what the module computes before and after each pass (docs/checking.md).
    - ``cache``: whether what earlier compiles of the same model made is taken from ``legato.cache``, and the result kept there; a compile
      that shows or checks its passes (``instrumentation``, ``reproducer``, ``verify_each``, ``check``) does without. A model from there
      has one stage, ``cache``, and no times of passes in its report.

    Raises ``LegatoError``; ``UnsupportedError`` if the model needs something that Legato does not support.
    """
    from_stage = renamed_argument(from_stage, "first", first, "from_stage")
    started, report = time.perf_counter(), Report()
    with seldom_collecting():
        with preparing(progress):
            from legato.compile_cache import CompileCache

            give = _partitioning(backends, costs, backend_options)
            catalog = Catalog([target] if isinstance(target, Target) else (), rules)
            resolved = settled(catalog.resolve(target))
            refuse_elsewhere(resolved)
            context = _context(catalog.resolve, report.details, instrumentation, reproducer, check, progress)
            kept = CompileCache.of(cache and not (verify_each or instrumentation or reproducer or check))
        if isinstance(module, Module) and not (backends or passes or from_stage):
            found = kept.model(module, resolved)
            if found is not None:
                return _from_cache(*found, resolved, time.perf_counter() - started, progress)
        with preparing(progress):
            from legato.codegen.jit import jit
            from legato.codegen.units import begin_usual

            if resolved.cpu is not None:
                begin_usual(resolved.cpu.threads)
        if resolved.engine_here:
            if backends:
                raise LegatoError(f"backends=: the device of the target '{resolved.name}' runs the graph as a whole")
            lowered = _lower_for_device(module, resolved, catalog.resolve(HOST), context, passes, from_stage, progress, verify_each, report)
        else:
            lowered = _lower(module, resolved, context, give, passes, from_stage, None, progress, verify_each, report)
        artifacts = listed(lowered)
        strip_external(lowered)

        def native() -> "Executable":
            return kept.code(lowered.module, lowered.weights, artifacts) or jit(lowered.module, lowered.weights, artifacts=artifacts)

        executable = report.run("native", native, progress)
        executable.report = report
        executable.explained = explanation(report.target, report.details)
        explained = executable.explained
        kept.keep(executable, report.seconds, report.stages[-1][1], lambda: {"kernels": report.kernels, "explanation": explained.data()})
        return executable


def _from_cache(executable: "Executable", about: Mapping[str, Any], target: Target, seconds: float,
                progress: Progress | None) -> "Executable":
    """A model from the cache, with the report of its compile as far as it was kept."""
    executable.report = Report([("cache", seconds)], kernels=list(about["kernels"]), target=target)
    executable.explained = Explanation.of(about["explanation"])
    if progress:
        progress("cache", seconds)
    return executable


def _lower_for_device(module: Module, target: Target, host: Target, context: PassContext, passes: PassesAt, from_stage: str | None,
                      progress: Progress | None, verify_each: bool, report: Report) -> Module:
    """The host's lowered module of a model that an engine runs on a device. LegatoError for a module that is past the graph."""
    from legato.offload import offload

    if from_stage is not None:
        raise LegatoError(f"from_stage={from_stage}: for the target '{target.name}' graphs are compiled, which its device runs as a whole")

    def lower_to(part: Module, start: str | None, last: str | None) -> Module:
        given = passes if start is None or isinstance(passes, Mapping) else ()
        return _lower(part, target, context, None, given, start, last, progress, verify_each, report)

    graph = offload(module, target.engine_here, lower_to)
    own = PassContext(context.resolve_target)
    result = report.run("host", lambda: _lower(graph, host, own, None, (), None, None, None, verify_each, Report()), progress)
    report.target = target
    return result


def refuse_elsewhere(target: Target) -> None:
    """LegatoError for a target whose code this process cannot call."""
    stages = target.templates()
    if stages and not target.runs_here:
        raise LegatoError(f"code for the target '{target.name}' cannot be run here yet: it can be printed, by "
                          f"legato.lower(module, '{target.name}') or legato-compile --target {target.name} --emit {stages[-1][0]}")


def explain(module: Compilable, target: str | Target = "llvm", *, rules: GivenRules = (), backends: Sequence[GivenBackend] = (),
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


def ptx(module: Module, target: Target) -> str:
    """The PTX of a fully lowered module's kernels, for the chip in the target's options. LegatoError: see ``codegen.ptx``."""
    device = device_code(module.module)
    if not device or "chip" not in target.options:
        raise LegatoError(f"PTX is made of kernels for NVIDIA's GPUs; lowered for '{target.name}', the module has none")
    from legato.codegen.ptx import ptx as make_ptx

    return make_ptx(list(device.values()), target.options["chip"])


def llvm_ir(module: Module) -> str:
    """The LLVM IR of a fully lowered module; of its gpu.modules, if it has some. LegatoError for ops of other dialects."""
    device = device_code(module.module)
    if device:
        return "\n".join(f"; gpu.module @{name}\n{code}" for name, code in device.items())
    module = module.clone()
    strip_external(module)
    other = next((op for op in module.module.body.operations if not op.operation.name.startswith("llvm.")), None)
    if other is not None:  # upstream's translation crashes on ops of other dialects
        raise LegatoError(f"LLVM IR is made of a module that holds only the llvm dialect; it has {other.operation.name}")
    return translated(module.module)
