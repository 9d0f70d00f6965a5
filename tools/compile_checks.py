"""The command line of a compile, checked before the model is read: options, names of targets, stages and backends, packages, the linker."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from legato.core.errors import LegatoError
from legato.driver import refuse_elsewhere
from legato.partitioning import check_backends, partition_passes
from legato.passes.partition.run_codegen import check_requires
from legato.runtime.linker import find_linker
from legato.stages import stages_of
from legato.targets.backend import GivenBackend
from legato.targets.backend_catalog import BackendCatalog
from legato.targets.catalog import Catalog
from legato.targets.target import Target
from legato.tools.errors import UsageError, command_line
from legato.tools.ir_options import check_names
from legato.tools.output import check_output, check_view
from legato.tools.user_file import UserCode

IMPORTED, PARTITIONED, ONNX, LLVM_IR, PTX = "imported", "partitioned", "onnx", "ll", "ptx"
NO_STAGES = (IMPORTED, PARTITIONED, ONNX, LLVM_IR, PTX)  # forms of --emit that are none of a target's stages
NATIVE = (".legato", ".so")


@dataclass(frozen=True)
class Chosen:
    """What the names on the command line stand for."""

    target: Target
    backends: Sequence[GivenBackend]


def check_options(options: argparse.Namespace) -> None:
    """Refuses options that do not fit together, and files that cannot be written. Raises UsageError."""
    if options.model is None:
        raise UsageError("there is no model: give an .onnx or an .mlir file, or - for standard input")
    if options.report_html:
        check_output("--report-html", options.report_html)
        if options.emit or options.diff:
            raise UsageError("--report-html is about a whole compile: give it alone or beside -o model.legato")
    if options.view:
        check_view("--view", options.view)
    if options.diff and (options.emit or options.explain or (options.output and Path(options.output).suffix in NATIVE)):
        raise UsageError("--diff prints what a stage changed: give it alone, or with -o FILE for the text")
    if not options.emit and not options.output and not (options.explain or options.diff or options.report_html or options.view):
        raise UsageError("nothing to do: give -o model.legato for native code, --emit STAGE or --diff STAGE for text, --explain "
                         "or --report")
    if options.explain and options.emit:
        raise UsageError("--explain prints what a whole compile did: give it alone or beside -o model.legato, without --emit")
    if options.output and not options.diff and (Path(options.output).suffix in NATIVE) != (not options.emit):
        raise UsageError(f"-o {options.output}: native code, and nothing else, goes into a file that ends in .legato (or .so); "
                         "--emit STAGE is text")
    if options.emit == ONNX and not options.output:
        raise UsageError("--emit onnx writes a binary file: give -o model.onnx")
    if options.output:
        check_output("-o", options.output)


def resolve(options: argparse.Namespace, user: UserCode) -> Chosen:
    """Looks up target, stages and backends. Raises UsageError for names that are unknown, LegatoError for what is missing here: the linker,
    or a package that a backend or --emit needs."""
    chosen = look_up(options, user)
    catalog = BackendCatalog(chosen.backends)
    if options.emit not in (IMPORTED, ONNX):
        for name, _ in options.backend:
            check_requires(catalog.resolve(name))
    if options.emit == PTX:
        _check_ptx(chosen.target)
    if options.view and options.emit in (LLVM_IR, PTX, chosen.target.templates()[-1][0] if chosen.target.templates() else ""):
        raise UsageError(f"--view draws graphs of tensors and kernels: the stage {options.emit} has none")
    if options.output and not options.emit and not options.diff:
        refuse_elsewhere(chosen.target)
        find_linker()
    with command_line():
        for stage in (options.emit if options.emit not in NO_STAGES else None, options.from_stage, options.diff):
            if stage is not None:
                chosen.target.stage(stage)
    return chosen


def look_up(options: argparse.Namespace, user: UserCode) -> Chosen:
    """The target and the backends of the command line. Raises UsageError for unknown ones."""
    with command_line():
        target = Catalog().resolve(options.target)
        backends = user.chosen([name for name, _ in options.backend])
        check_backends(backends, dict(options.backend))
    if (options.mlir_print_ir_before or options.mlir_print_ir_after) and target.templates():
        pipelines = [passes for _, passes in stages_of(target)]
        if options.backend:
            pipelines.append(partition_passes(backends, dict(options.backend)))
        check_names(options, pipelines)
    return Chosen(target, backends)


def _check_ptx(target: Target) -> None:
    from legato.codegen.ptx import check_ptx

    if "chip" not in target.options:
        raise LegatoError(f"PTX is made of kernels for NVIDIA's GPUs, not for the target '{target.name}': --target nvvm")
    check_ptx(target.options["chip"])
