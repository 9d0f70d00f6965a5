"""The command line of legato-opt: fixed options, and passes as flags, in the order in which they run. Loads no MLIR."""
from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path

from legato.tools.completion import SHELLS
from legato.tools.errors import UsageError
from legato.tools.ir_text import IrPrinter

VALUED = {
    "pass-pipeline": "pipeline", "print-ir-before": "print_before", "print-ir-after": "print_after", "load": "load",
    "reproducer": "reproducer", "completion": "completion", "o": "output", "target": "target", "emit": "emit", "op": "op", "view": "view",
    "check-inputs": "check_inputs",
    "mlir-print-ir-tree-dir": "tree_dir", "mlir-elide-elementsattrs-if-larger": "elements_limit",
    "mlir-elide-resource-strings-if-larger": "resource_limit",
}
SWITCHES = {
    "split-input-file": "split", "verify-diagnostics": "verify_diagnostics", "verify-each": "verify_each", "verify-roundtrip": "roundtrip",
    "check-each-pass": "check_each",
    "print-ir-before-all": "print_before_all", "print-ir-after-all": "print_after_all", "timing": "timing", "list-passes": "list_passes",
    "list-rules": "list_rules", "print-ir-after-change": "print_after_change", "print-ir-after-failure": "print_after_failure",
    "mlir-print-local-scope": "local_scope", "show-dialects": "show_dialects", "dump-pass-pipeline": "dump_pipeline",
    "emit-bytecode": "emit_bytecode", "inline-weights": "inline_weights", "mlir-disable-threading": "no_threads",
    "mlir-print-debuginfo": "debuginfo", "mlir-print-op-generic": "generic", "allow-unregistered-dialect": "allow_unregistered",
    "v": "verbose", "vv": "verbose", "verbose": "verbose",
    "run-reproducer": "run_reproducer", "help": "help", "h": "help", "debug": "debug", "version": "version",
}
ALIASES = {  # mlir-opt's spelling
    "mlir-print-ir-before": "print-ir-before", "mlir-print-ir-after": "print-ir-after", "mlir-print-ir-before-all": "print-ir-before-all",
    "mlir-print-ir-after-all": "print-ir-after-all", "mlir-timing": "timing", "show-passes": "list-passes",
    "mlir-print-ir-after-change": "print-ir-after-change", "mlir-print-ir-after-failure": "print-ir-after-failure",
    "mlir-pass-pipeline-crash-reproducer": "reproducer",
}
SEPARATOR = "// -----"
NO_REPRODUCER = "none"
EXPLAIN = ("table", "json")
EMIT = ("mlir", "script", "irdl")


@dataclass
class Arguments:
    """The parsed command line. `input` is a path or ``-``; `passes` are flags as pipeline text, in order."""

    input: str = "-"
    output: str = "-"
    pipeline: str | None = None
    passes: list[str] = field(default_factory=list)
    load: list[str] = field(default_factory=list)
    reproducer: str | None = None
    print_before: list[str] = field(default_factory=list)
    print_after: list[str] = field(default_factory=list)
    print_before_all: bool = False
    print_after_all: bool = False
    print_after_change: bool = False
    print_after_failure: bool = False
    tree_dir: str = ""
    local_scope: bool = False
    elements_limit: int | None = None
    resource_limit: int | None = None
    show_dialects: bool = False
    dump_pipeline: bool = False
    emit_bytecode: bool = False
    inline_weights: bool = False
    no_threads: bool = False  # mlir-opt's --mlir-disable-threading, which is always so here
    separator: str = SEPARATOR
    split: bool = False
    verify_diagnostics: bool = False
    verify_each: bool = False
    check_each: bool = False
    check_inputs: str = ""
    roundtrip: bool = False
    timing: bool = False
    list_passes: bool = False
    list_rules: bool = False
    target: str = ""
    op: str = ""
    view: str = ""
    completion: str = ""
    explain: str = ""
    emit: str = EMIT[0]
    debuginfo: bool = False
    generic: bool = False
    allow_unregistered: bool = False
    run_reproducer: bool = False
    help: bool = False
    version: bool = False
    debug: bool = False
    verbose: bool = False
    command: str = ""

    @property
    def pipeline_text(self) -> str:
        """The pipeline: --pass-pipeline, or the passes given as flags."""
        return self.pipeline if self.pipeline is not None else ",".join(self.passes)

    @property
    def printer(self) -> IrPrinter:
        """How IR is printed."""
        return IrPrinter(self.debuginfo, self.generic, self.local_scope, self.elements_limit, self.resource_limit)

    @property
    def reproducer_path(self) -> Path | None:
        """The file for the IR before a failing pass: in the current folder, unless ``--reproducer`` names one.

        None for tests (several parts, diagnostics to verify) and while a reproducer runs, unless ``--reproducer`` is given.
        """
        if self.reproducer is not None:
            return None if self.reproducer == NO_REPRODUCER else Path(self.reproducer)
        if self.verify_diagnostics or self.split or self.run_reproducer:
            return None
        return Path(f"{'stdin' if self.input == '-' else Path(self.input).stem}.reproducer.mlir")


def verbosity(words: list[str]) -> int:
    """How much is logged: 1 for -v, 2 for -vv."""
    return sum({"-v": 1, "--verbose": 1, "-vv": 2}.get(word, 0) for word in words)


def parse_arguments(words: list[str]) -> Arguments:
    """Parses the command line without the program's name. Unknown flags are taken for passes. Raises UsageError."""
    result = Arguments(command=shlex.join(["legato-opt", *words]))
    inputs: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "-" or not word.startswith("-"):
            inputs.append(word)
            continue
        name, equals, value = word.lstrip("-").partition("=")
        name = ALIASES.get(name, name)
        if name == "explain":
            value = EXPLAIN[0] if value == "text" else value   # its old name
            if equals and value not in EXPLAIN:
                raise UsageError(f'--explain takes {" or ".join(EXPLAIN)}, not "{value}"')
            result.explain = value or EXPLAIN[0]
        elif name == "split-input-file":
            result.split, result.separator = True, value or SEPARATOR
        elif name in SWITCHES:
            if equals:
                raise UsageError(f'--{name} takes no value, and got "{value}"')
            setattr(result, SWITCHES[name], True)
        elif name in VALUED:
            if not equals and (value := next(rest, "")) == "":
                raise UsageError(f"--{name} needs a value" if name != "o" else "-o needs a file name")
            _set(result, VALUED[name], value)
        else:
            result.passes.append(f"{name}{{{value}}}" if equals else name)
    if len(inputs) > 1:
        raise UsageError(f"one input at a time: {', '.join(inputs)}")
    result.input = inputs[0] if inputs else "-"
    _refuse(result)
    return result


def _set(result: Arguments, name: str, value: str) -> None:
    if name == "load":
        result.load.append(value)
    elif name in ("print_before", "print_after"):
        getattr(result, name).extend(part.strip() for part in value.split(","))
    elif name in ("elements_limit", "resource_limit"):
        if not value.isdigit():
            raise UsageError(f'the limit of elided constants is a number, not "{value}"')
        setattr(result, name, int(value))
    elif name == "pipeline" and result.pipeline is not None:
        raise UsageError("--pass-pipeline is given twice")
    else:
        setattr(result, name, value)


def _refuse(result: Arguments) -> None:
    given = [text for text, is_given in [("--pass-pipeline", result.pipeline is not None), ("passes as flags", result.passes),
                                         ("--run-reproducer", result.run_reproducer)] if is_given]
    if len(given) > 1:
        raise UsageError(f"which passes to run is said in more than one way: {' and '.join(given)}")
    if bool(result.target) != result.list_rules or (result.op and not result.list_rules):
        raise UsageError("the rules of a target are listed by --list-rules --target=NAME, those for one op by --op=NAME beside them")
    if result.completion and result.completion not in SHELLS:
        raise UsageError(f'--completion takes {" or ".join(SHELLS)}, not "{result.completion}"')
    if result.emit not in EMIT:
        raise UsageError(f'--emit takes {", ".join(EMIT)}, not "{result.emit}"')
    if result.emit_bytecode and (result.split or result.emit != EMIT[0] or result.inline_weights):
        raise UsageError("--emit-bytecode writes one module: neither --split-input-file, --emit nor --inline-weights goes with it")
    if result.check_inputs and not (result.check_each or result.run_reproducer):
        raise UsageError("--check-inputs gives the inputs for --check-each-pass: add that")
    if result.split and result.run_reproducer:
        raise UsageError("--run-reproducer takes a file with one module, without --split-input-file")
