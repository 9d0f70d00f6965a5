"""``python -m legato TOOL ...``: the tools by the interpreter that has them, where its ``bin`` folder is not on the path."""
import sys
from importlib import import_module

TOOLS = {"opt": "legato_opt", "compile": "legato_compile", "run": "legato_run", "reduce": "legato_reduce", "config": "legato_config"}
HELP = """python -m legato TOOL ...

  compile   compiles a model to native code, or prints any stage    (also: legato-compile)
  run       runs a model, checks it, times it                       (also: legato-run)
  reduce    makes a model that fails small                         (also: legato-reduce)
  opt       runs passes on MLIR text                                (also: legato-opt)
  config    prints the flags for programs in C that call models     (also: legato-config)

python -m legato compile --help shows a tool's options."""


def main(words: list[str]) -> int:
    """Runs the tool that the first word names, with or without ``legato-``. Returns its exit code; 2 for an unknown one."""
    if not words or words[0] in ("-h", "--help", "help"):
        print(HELP)
        return 0 if words else 2
    if words[0] == "--version":
        from legato import __version__

        print(f"legato {__version__}")
        return 0
    name = TOOLS.get(words[0].removeprefix("legato-"))
    if name is None:
        print(f"python -m legato: error: there is no tool '{words[0]}'; there are {', '.join(TOOLS)}", file=sys.stderr)
        return 2
    return import_module(f"legato.tools.{name}").main(words[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
