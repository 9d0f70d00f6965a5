"""``--completion bash|zsh``: scripts that complete the options of a tool, made from its parser; they need nothing else at run time."""
from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass

SHELLS = ("bash", "zsh")
NEWLINE, BACKSLASH = "\n", "\\"
FILES = ("FILE", "DIR", "NAME=FILE", "model")  # beginnings of metavars that stand for files


@dataclass(frozen=True)
class CompletedOption:
    """An option: its names, its help, and what follows it: words to choose from, a file (``takes_file``), any text, or nothing."""

    names: tuple[str, ...]
    help: str
    takes_value: bool = False
    takes_file: bool = False
    choices: tuple[str, ...] = ()


def options_of_parser(parser: argparse.ArgumentParser, choices: dict[str, Sequence[str]]) -> list[CompletedOption]:
    """The options of a parser. ``choices``: words for options that take a name, by the option."""
    found = []
    for action in parser._actions:
        if not action.option_strings or action.help == argparse.SUPPRESS:
            continue
        words = next((tuple(choices[name]) for name in action.option_strings if name in choices), tuple(map(str, action.choices or ())))
        metavar = action.metavar if isinstance(action.metavar, str) else ""
        found.append(CompletedOption(tuple(action.option_strings), (action.help or "").split(";")[0], action.nargs != 0,
                                     metavar.startswith(FILES), words))
    return found


def compile_choices() -> dict[str, Sequence[str]]:
    """The names of stages, targets and backends, by the options that take them."""
    from legato.targets.backend_catalog import BackendCatalog
    from legato.targets.catalog import Catalog
    from legato.tools.compile_checks import NO_STAGES

    catalog = Catalog()
    stages = list(dict.fromkeys(stage for target in ("llvm", "nvvm") for stage, _ in catalog.resolve(target).templates()))
    return {"--emit": [*NO_STAGES, *stages], "--target": catalog.names(), "--backend": BackendCatalog().names(),
            **dict.fromkeys(("--from-stage", "--diff", "--print-pipeline"), stages)}


def opt_options() -> list[CompletedOption]:
    """The options of legato-opt, its passes among them."""
    from legato.passes.pipeline.registry import all_passes
    from legato.passes.pipeline.upstream import places
    from legato.tools.opt_arguments import ALIASES, EMIT, EXPLAIN, SWITCHES, VALUED

    files = ("load", "reproducer", "o", "view", "mlir-print-ir-tree-dir")
    found = [CompletedOption((f"-{name}" if len(name) < 3 else f"--{name}",), "") for name in SWITCHES]
    found += [CompletedOption((f"-{name}" if name == "o" else f"--{name}",), "", True, name in files, {"emit": EMIT}.get(name, ()))
              for name in VALUED]
    found += [CompletedOption(("--explain",), "", choices=EXPLAIN), CompletedOption(("--split-input-file",), "")]
    found += [CompletedOption((f"--{name}",), "", meant in VALUED, meant in files) for name, meant in ALIASES.items()]
    found += [CompletedOption((f"--{one.name}",), one.help().split("\n")[0]) for one in all_passes()]
    return found + [CompletedOption((f"--{name}",), "a pass of upstream MLIR") for name in places()]


def script(shell: str, tool: str, options: Sequence[CompletedOption]) -> str:
    """The script for a shell: ``source <(legato-opt --completion bash)``."""
    return _bash(tool, options) if shell == "bash" else _zsh(tool, options)


def _bash(tool: str, options: Sequence[CompletedOption]) -> str:
    function = f"_{tool.replace('-', '_')}"
    cases = []
    for option in options:
        if not option.takes_value:
            continue
        if option.choices:
            what = f'COMPREPLY=($(compgen -W "{NEWLINE.join(option.choices)}" -- "$current"))'
        else:
            what = 'COMPREPLY=($(compgen -f -- "$current"))' if option.takes_file else "COMPREPLY=()"
        cases.append(f"    {'|'.join(option.names)}) {what}; return ;;")
    names = NEWLINE.join(name for option in options for name in option.names)
    return f"""# {tool}: completion for bash; source <({tool} --completion bash)
{function}() {{
  local IFS=$'\\n' current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  if [ "$current" = "=" ]; then current=""  # bash takes the = of --option=value for a word
  elif [ "$before" = "=" ]; then before="${{COMP_WORDS[COMP_CWORD-2]}}"
  fi
  case "$before" in
{NEWLINE.join(cases)}
  esac
  case "$current" in
    -*) COMPREPLY=($(compgen -W "{names}" -- "$current")) ;;
    *) COMPREPLY=($(compgen -f -- "$current")) ;;
  esac
}}
complete -o filenames -F {function} {tool}
"""


def _zsh(tool: str, options: Sequence[CompletedOption]) -> str:
    function, lines = f"_{tool.replace('-', '_')}", []
    for option in options:
        about = re.sub(r"([\[\]:\\'])", r"\\\1", option.help).replace("\\'", "'\\''")
        for name in option.names:
            value = f":value:({' '.join(option.choices)})" if option.choices else ":file:_files" if option.takes_file else ":value: "
            equals = "=" if option.takes_value and name.startswith("--") else ""
            lines.append(f"  '*{name}{equals}[{about}]{value if option.takes_value else ''}'")
    return f"""#compdef {tool}
# {tool}: completion for zsh; source <({tool} --completion zsh), or as a file _{tool} in $fpath
{function}() {{
  _arguments -s \\
{NEWLINE.join(f"{line} {BACKSLASH}" for line in lines)}
    '*:file:_files'
}}
if [ "$funcstack[1]" = "{function}" ]; then {function} "$@"; else compdef {function} {tool}; fi
"""
