"""What the command lines of the tools have in common: the version, and errors with the nearest option. Loads no MLIR."""
from __future__ import annotations

import argparse
import difflib
from typing import Any, NoReturn

from legato.tools.completion import SHELLS
from legato.tools.errors import USAGE


class Parser(argparse.ArgumentParser):
    """argparse's parser, with ``--version``, and with errors like legato-opt's: two lines instead of the usage of all options."""

    def __init__(self, prog: str, **settings: Any) -> None:
        super().__init__(prog=prog, formatter_class=argparse.RawDescriptionHelpFormatter, **settings)
        self.add_argument("--completion", action=_Completion, choices=SHELLS, help="print a script that completes this tool's options, "
                          "and end: source <(" + prog + " --completion bash)")
        self.add_argument("--version", action=_Version, help="print the versions of Legato and LLVM, and end")

    def error(self, message: str) -> NoReturn:
        """Prints the error and a hint on standard error, and exits with 2."""
        self.exit(USAGE, f"{self.prog}: error: {message}{self._nearest(message)}\n{self.prog} --help shows what there is\n")

    def _nearest(self, message: str) -> str:
        words = message.partition("unrecognized arguments: ")[2].split()
        if words and (hint := self._elsewhere(words[0].partition("=")[0])):
            return hint
        close = difflib.get_close_matches(words[0].partition("=")[0], self._option_string_actions, 1) if words else []
        return f"; did you mean {close[0]}?" if close else ""


    def _elsewhere(self, option: str) -> str:
        """Where an option of legato-compile was given to legato-run: what has it."""
        from legato.tools.legato_compile import parser

        there = self.prog == "legato-run" and option in parser()._option_string_actions
        return f"; {option} is an option of legato-compile, which compiles alike" if there else ""


class _Version(argparse.Action):
    def __init__(self, option_strings: list[str], dest: str, **settings: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **settings)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        print(version(parser.prog))
        parser.exit()


class _Completion(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: Any) -> None:
        from legato.tools.completion import compile_choices, options_of_parser, script

        print(script(values, parser.prog, options_of_parser(parser, compile_choices())), end="")
        parser.exit()


def version(tool: str) -> str:
    """The line of ``--version``: ``legato-opt (legato 0.1.0), LLVM 24.0.0git (torch-mlir 20261001)``."""
    from legato import __version__
    from legato.core.mlir import versions

    return f"{tool} (legato {__version__}), {versions()}"
