"""legato-reduce: makes an ONNX model or IR as small as it can be while a command fails on it."""
import argparse
import re
import signal
import sys
import time
from pathlib import Path
from typing import Any

from legato.tools.command_line import Parser
from legato.tools.models import count_option

TOOL = "legato-reduce"
EXAMPLES = """examples:
  legato-reduce model.onnx --fails 'legato-compile {} -o /dev/null.legato'
      the compile ends with the exit code that it has now
  legato-reduce model.onnx --fails 'legato-compile {} -o m.legato' --prints 'internal error' -o small.onnx
      and says so: without --prints any error of this exit code would do
  legato-reduce model.onnx --fails 'legato-run {} --random --check onnxruntime' --prints ABOVE
      a wrong result
  legato-reduce model.onnx --fails 'legato-run {} --random' --exit-code SIGSEGV
      a crash; it is the default if the command crashes now
  legato-reduce model.onnx --fails 'legato-compile {} -o m.legato' --timeout 20
      a hang: the command takes longer than that
  legato-reduce kernels.mlir --fails 'legato-opt {} --tir-fuse' --prints 'tir-fuse failed'
  legato-reduce model.onnx --fails './check.sh'
      a program of yours, which gets the candidate's path, and fails by any exit code but 0

The original has to fail, too: that is tried first. What a candidate is tested on is a file of the original's name in a folder of its own;
the command runs in the folder that you are in. A candidate that onnx's checker or MLIR's verifiers refuse is not tested. The smallest one
so far is always in the file of -o: end it at any time."""


def parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    p = Parser(TOOL, usage="%(prog)s MODEL --fails COMMAND [-o FILE] [options]", description=__doc__, epilog=EXAMPLES)
    p.add_argument("model", help="a model or IR: .onnx (with its external data), .mlir or .mlirbc (with its weights beside it)")
    p.add_argument("--fails", metavar="COMMAND", help="a shell command that fails; {} stands for the path of a candidate, "
                   "which is appended where there is none")
    p.add_argument("-o", dest="output", metavar="FILE", help="where to write (default: NAME.reduced.onnx or .mlir, beside the model)")
    p.add_argument("--exit-code", type=exit_code_option, metavar="N", help="how the command fails: a number, or a signal as SIGSEGV "
                   "(default: as it does on the original, which may be any but 0)")
    p.add_argument("--prints", action="append", default=[], metavar="TEXT", help="what the command has to print, on either stream; may be "
                   "given again: all of them")
    p.add_argument("--timeout", type=seconds_option, metavar="SECONDS", help="kill the command after this time (default: ten times what "
                   "it takes on the original, at least 30); if it takes longer on the original, that is the failure")
    p.add_argument("--minutes", type=seconds_option, metavar="N", help="stop after so long, with the smallest one so far")
    p.add_argument("--jobs", type=count_option, default=1, metavar="N", help="how many commands run at once; the result is the same")
    p.add_argument("--no-verify", action="store_true", help="test invalid candidates, too")
    p.add_argument("--load", action="append", default=[], metavar="FILE.py|MODULE",
                   help="run a Python file, or import a module, first, and use the dialects that it defines")
    p.add_argument("-q", "--quiet", action="store_true", help="no progress")
    p.add_argument("-v", "--verbose", action="count", default=0, help="log what is done, on standard error")
    p.add_argument("--debug", action="store_true", help="errors with Python's traceback")
    return p


def exit_code_option(text: str) -> int:
    """Parses an exit code, or a signal's name, as a shell numbers it. Raises ``argparse.ArgumentTypeError``."""
    if re.fullmatch(r"SIG[A-Z]+", text) and text in signal.Signals.__members__:
        return 128 + signal.Signals[text]
    if not re.fullmatch(r"\d{1,3}", text) or int(text) > 255:
        raise argparse.ArgumentTypeError(f"'{text}' is no exit code: write a number up to 255, or a signal as SIGSEGV")
    return int(text)


def seconds_option(text: str) -> float:
    """Parses a number above 0. Raises ``argparse.ArgumentTypeError``."""
    if not re.fullmatch(r"\d+(\.\d+)?", text) or float(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no time: write a number above 0")
    return float(text)


def main(argv: list[str] | None = None) -> int:
    """The tool. Returns the exit code: 0, 1 if the command does not fail on the original, 2 if the command line is invalid."""
    begun = time.perf_counter()
    options = parser().parse_args(argv)
    from legato.tools.errors import reported

    with reported(TOOL, debug=options.debug, verbosity=options.verbose) as outcome:
        run(options, begun)
    return outcome.code


def run(options: argparse.Namespace, begun: float) -> None:
    """Does what the command line asks for; ``begun``: when the tool started. Raises UsageError, before any work, and LegatoError."""
    from legato.tools.errors import UsageError
    from legato.tools.output import check_output

    if not options.fails or not options.fails.strip():
        raise UsageError("what fails? Give --fails COMMAND, such as --fails 'legato-compile {} -o m.legato'")
    model = Path(options.model)
    output = Path(options.output) if options.output else model.with_name(f"{model.stem}.reduced{model.suffix.removesuffix('bc')}")
    check_output("-o", str(output))
    if output.exists() and model.exists() and output.samefile(model):
        raise UsageError(f"-o {output}: that is the model itself; give another name")
    from legato.reduction import reduce
    from legato.tools.console import console
    from legato.tools.output import sizes
    from legato.tools.user_file import register_user_files

    user = register_user_files(options.load)
    report = _Steps(options.quiet or bool(options.verbose), begun)
    found = reduce(model, options.fails, output=output, exit_code=options.exit_code, prints=options.prints, timeout=options.timeout,
                   verify=not options.no_verify, jobs=options.jobs, minutes=options.minutes, dialects=user.dialects, progress=report)
    console.show("")
    for note in found.notes:
        console.say(f"{TOOL}: note: {note}")
    if not options.quiet:
        ended = "" if found.finished else f", ended after {options.minutes:g} minutes"
        console.say(f"{TOOL}: {found.before} -> {found.after} in {found.tests} tests ({found.invalid} candidates were invalid){ended}")
        console.say(f"{TOOL}: wrote {sizes([output])} in {time.perf_counter() - begun:.2f} s")


class _Steps:
    """Says which step makes the model smaller: a line on terminals, else one for each step."""

    def __init__(self, quiet: bool, begun: float) -> None:
        self.quiet, self.begun, self.step = quiet, begun, ""

    def __call__(self, search: Any) -> None:
        from legato.tools.console import console, is_terminal

        if self.quiet:
            return
        line = f"{TOOL}: {search.step or 'original'}: {search.best.size()} after {search.tests} tests"
        if is_terminal(sys.stderr):
            console.show(line)
        elif search.step != self.step or not search.step:
            console.say(f"{line}, {time.perf_counter() - self.begun:.1f} s")
        self.step = search.step


if __name__ == "__main__":
    sys.exit(main())
