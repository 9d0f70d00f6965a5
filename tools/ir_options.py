"""mlir-opt's options for printing IR and for reproducers, on the command lines of legato-compile and legato-run."""
from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from legato.tools.ir_text import IrPrinter

if TYPE_CHECKING:
    from legato.checking.checker import PassChecker
    from legato.passes.pipeline.instrumentation import Instrumentation
    from legato.passes.pipeline.pipeline import PassPipeline
    from legato.passes.pipeline.reproducer import Reproduction


def add_ir_options(parser: argparse.ArgumentParser, emits: bool = True) -> None:
    """Adds the options, as a group. ``emits``: whether the tool has --emit."""
    group = parser.add_argument_group("IR and passes, as in mlir-opt")
    if emits:
        group.add_argument("--inline-weights", action="store_true", help="--emit STAGE: print the weights in the text, so that it can be "
                           "piped")
        group.add_argument("--emit-bytecode", action="store_true", help="--emit STAGE: write MLIR's bytecode instead of text")
    group.add_argument("--verify-each", action="store_true", help="verify the IR after every pass")
    group.add_argument("--mlir-print-debuginfo", action="store_true", help="print locations: they carry the model's names")
    group.add_argument("--mlir-print-local-scope", action="store_true", help="print attributes and locations inline, without aliases")
    group.add_argument("--mlir-elide-elementsattrs-if-larger", type=int, metavar="N", help="leave out constants of more than N elements")
    group.add_argument("--mlir-elide-resource-strings-if-larger", type=int, metavar="N", help="leave out resources of longer text")
    for when in ("before", "after"):
        group.add_argument(f"--mlir-print-ir-{when}", f"--print-ir-{when}", type=_names, default=[], metavar="PASS,...",
                           help=f"print the IR {when} these passes, on standard error")
        group.add_argument(f"--mlir-print-ir-{when}-all", f"--print-ir-{when}-all", action="store_true", help=f"{when} every pass")
    group.add_argument("--mlir-print-ir-after-change", action="store_true", help="only after passes that changed the IR")
    group.add_argument("--mlir-print-ir-after-failure", action="store_true", help="after a pass that failed")
    group.add_argument("--mlir-print-ir-tree-dir", type=Path, metavar="DIR", help="print to files in this folder")
    group.add_argument("--mlir-pass-pipeline-crash-reproducer", "--reproducer", type=Path, metavar="FILE", help="if a pass fails, write "
                       "the IR before it here, for legato-opt --run-reproducer")


def _names(text: str) -> list[str]:
    return text.split(",")


def check_names(options: argparse.Namespace, pipelines: Iterable[PassPipeline]) -> None:
    """UsageError for a pass around which to print that does not run. ``pipelines``: those of the stages, and of backends."""
    from legato.tools.errors import UsageError

    known = {name for pipeline in pipelines for name in pipeline.names()}
    for when, names in (("before", options.mlir_print_ir_before), ("after", options.mlir_print_ir_after)):
        for name in names:
            if name not in known:
                close = get_close_matches(name, known, 1)
                hint = f"; did you mean {close[0]}?" if close else ""
                raise UsageError(f"--mlir-print-ir-{when}={name}: no pass of that name runs{hint} (legato-compile --print-pipeline "
                                 "lists them)")


def printer(options: argparse.Namespace, to_file: bool = False) -> IrPrinter:
    """How IR is printed; to files always with locations."""
    return IrPrinter(to_file or options.mlir_print_debuginfo, False, options.mlir_print_local_scope,
                     options.mlir_elide_elementsattrs_if_larger, options.mlir_elide_resource_strings_if_larger)


def instrumentation(options: argparse.Namespace) -> Instrumentation | None:
    """What is printed while passes run; None: nothing."""
    from legato.passes.pipeline.instrumentation import Instrumentation

    found = Instrumentation(
        print_before=frozenset(options.mlir_print_ir_before), print_after=frozenset(options.mlir_print_ir_after),
        print_before_all=options.mlir_print_ir_before_all, print_after_all=options.mlir_print_ir_after_all,
        print_after_change=options.mlir_print_ir_after_change, print_after_failure=options.mlir_print_ir_after_failure,
        timing=options.timing, tree_dir=options.mlir_print_ir_tree_dir, show=printer(options).module)
    return found if found.is_used else None


def reproduction(options: argparse.Namespace, words: Iterable[str], tool: str = "legato-compile") -> Reproduction | None:
    """Where to write a reproducer; ``words``: the command line of ``tool``. None: nowhere."""
    from legato.passes.pipeline.reproducer import Reproduction

    path = options.mlir_pass_pipeline_crash_reproducer
    return Reproduction(path, shlex.join([tool, *words]), tuple(options.load)) if path else None


def make_checker(options: argparse.Namespace, words: Iterable[str]) -> PassChecker | None:
    """What runs the model around each pass, for --check-each-pass; None without it. A reproducer goes to the current folder, unless
    --reproducer names a file. UsageError for inputs without --check-each-pass."""
    if not options.check_each_pass:
        if options.check_inputs:
            from legato.tools.errors import UsageError

            raise UsageError("--check-inputs gives the inputs for --check-each-pass: add that")
        return None
    from legato.checking.checker import PassChecker, show_progress
    from legato.checking.report import read_inputs

    path = options.mlir_pass_pipeline_crash_reproducer or Path(f"{Path(options.model).stem}.reproducer.mlir")
    inputs = read_inputs(options.check_inputs) if options.check_inputs else None
    return PassChecker(inputs, target=options.target, reproducer=path, command=shlex.join(["legato-compile", *words]), loaded=options.load,
                   progress=None if options.quiet else show_progress)
