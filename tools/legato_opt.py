"""legato-opt: runs passes on MLIR text."""
from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from legato.tools.command_line import version
from legato.tools.console import console
from legato.tools.errors import command_line, reported
from legato.tools.opt_arguments import Arguments, parse_arguments, verbosity

if TYPE_CHECKING:
    from legato.tools.user_file import UserCode

TOOL = "legato-opt"


def main(words: list[str] | None = None) -> int:
    """Runs the tool. Returns the exit code: 0, 1 if the input or a pass failed or diagnostics were not as expected, 2 if the command line
    is invalid."""
    words = sys.argv[1:] if words is None else words
    with reported(TOOL, debug="--debug" in words, verbosity=verbosity(words)) as outcome:
        outcome.code = run(parse_arguments(words))
    return outcome.code


def run(arguments: Arguments) -> int:
    """Does what the command line asks for. Returns the exit code. Errors in the command line are raised before the first pass runs."""
    if arguments.help:
        from legato.tools.opt_help import HELP

        print(HELP)
        return 0
    if arguments.version:
        print(version(TOOL))
        return 0
    if arguments.completion:
        from legato.tools.completion import opt_options, script

        print(script(arguments.completion, TOOL, opt_options()), end="")
        return 0
    begun = time.perf_counter()
    from legato.passes.pipeline.reproducer import remove_stale
    from legato.tools.opt_input import STANDARD_INPUT, read_input
    from legato.tools.opt_session import Session
    from legato.tools.opt_setup import follow_reproducer, load_user_code, make_checker, make_pipeline, mlir_context, pass_context
    from legato.tools.output import check_output, check_view

    if arguments.output != STANDARD_INPUT:
        check_output("-o", arguments.output)
    if arguments.view:
        check_view("--view", arguments.view)
    text = read_input(arguments.input) if arguments.run_reproducer else None
    if text is not None:
        follow_reproducer(arguments, text)
    user = load_user_code(arguments)
    if tell(arguments, user):
        return 0
    context = pass_context(user)
    with command_line():
        pipeline = make_pipeline(arguments, user, context)
        context.observer = checker = make_checker(arguments)
    if arguments.dump_pipeline:
        console.say(f"Pipeline of {len(pipeline.names())} passes:\n{pipeline}\n")
    session = Session(arguments, pipeline, context, mlir_context(arguments, user))
    context.times.append(("start", time.perf_counter() - begun))
    code = session.run(text or read_input(arguments.input))
    if checker is not None and code == 0:
        print(f"legato-opt: {checker.report}", file=sys.stderr)
    if code == 0 and arguments.reproducer_path is not None:
        remove_stale(arguments.reproducer_path, arguments.command)
    if arguments.timing:
        from legato.passes.pipeline.instrumentation import time_report

        print(time_report(context.times, time.perf_counter() - begun), file=sys.stderr)
    return code


def tell(arguments: Arguments, user: UserCode) -> bool:
    """Prints what there is, passes, dialects or rules, where the command line asks for that in place of a run. Returns whether it does."""
    from legato.tools.opt_input import STANDARD_INPUT
    from legato.tools.opt_setup import list_all_passes, list_dialects, list_target_rules, mlir_context
    from legato.tools.output import write_out

    if arguments.list_passes:
        list_all_passes(user)
    elif arguments.emit == "irdl":
        from legato.tools.irdl import irdl_text

        text = irdl_text(user.dialects) + "\n"
        if arguments.output == STANDARD_INPUT:
            write_out(text)
        else:
            Path(arguments.output).write_text(text)
    elif arguments.show_dialects:
        list_dialects(mlir_context(arguments, user))
    elif arguments.list_rules:
        with command_line():
            list_target_rules(arguments, user)
    else:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
