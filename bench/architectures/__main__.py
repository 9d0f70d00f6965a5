"""Architectures of transformers, exported from PyTorch in six ways, compiled, and compared with onnxruntime.

``python -m bench.architectures export [NAME...]`` writes ONNX files and arguments; it needs torch, transformers and onnxscript.
``python -m bench.architectures check [NAME...]`` compiles and compares them, each in a process of its own; it needs neither.
``python -m bench.architectures page`` writes docs/architectures.md of the results.
``python -m bench.architectures compile [NAME...]`` tries ``torch.compile(backend="legato")`` beside PyTorch itself.
Files that are there are kept: a run that ends early goes on where it was.
"""
import argparse
import json
import os
import traceback
from importlib.metadata import version
from pathlib import Path

from .ways import WAYS

DIRECTORY = Path("build/bench/architectures")
PAGE = Path("docs/architectures.md")
PACKAGES = ("torch", "transformers", "onnxruntime")


def main() -> None:
    """Runs one of the commands."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("export", "check", "page", "compile"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="model types of transformers; all by default")
    parser.add_argument("--directory", type=Path, default=DIRECTORY, help="of files and results (%(default)s)")
    parser.add_argument("--ways", nargs="+", choices=[str(way) for way in WAYS], help="of those exported, the ones to check")
    parser.add_argument("--again", action="store_true", help="check what has been checked, too")
    arguments = parser.parse_args()
    {"export": _export, "check": _check, "page": _page, "compile": _compile}[arguments.command](arguments)


def _export(arguments: argparse.Namespace) -> None:
    from .export import export
    from .models import ARCHITECTURES

    arguments.directory.mkdir(parents=True, exist_ok=True)
    versions = {name: version(name) for name in PACKAGES}
    (arguments.directory / "versions.json").write_text(json.dumps(versions))
    for name in arguments.names or ARCHITECTURES:
        if not os.fork():   # torch may crash, and keeps memory
            try:
                export(name, arguments.directory / "models" / name)
            except BaseException:
                traceback.print_exc()
            os._exit(0)
        os.wait()
        print(name, flush=True)


def _check(arguments: argparse.Namespace) -> None:
    from .check import check, warm

    warm()
    results, versions = arguments.directory / "results", arguments.directory / "versions.json"
    versions.write_text(json.dumps({**json.loads(versions.read_text()), "onnxruntime": version("onnxruntime")}))   # not the exporter's
    for folder in sorted((arguments.directory / "models").iterdir()):
        if (arguments.names and folder.name not in arguments.names) or not (folder / "arguments.npz").exists():   # still being exported
            continue
        for way in WAYS:
            file = results / folder.name / f"{way}.json"
            if (arguments.ways and str(way) not in arguments.ways) or (file.exists() and not arguments.again):
                continue
            check(folder, results, (way,))
            if file.exists():
                found = json.loads(file.read_text())
                print(f"{folder.name:16} {way!s:14} {found['seconds']:6.1f} s  {found['state']} {found['error'] or ''} {found['reason']}",
                      flush=True)


def _page(arguments: argparse.Namespace) -> None:
    from .page import page, results_in

    versions = json.loads((arguments.directory / "versions.json").read_text())
    PAGE.write_text(page(results_in(arguments.directory / "results"), versions))
    print(PAGE)


def _compile(arguments: argparse.Namespace) -> None:
    from .backend import attempt
    from .models import ARCHITECTURES

    names = arguments.names or list(ARCHITECTURES)
    print(f"torch.compile: {sum(attempt(name) for name in names)} of {len(names)} run")


if __name__ == "__main__":
    main()
