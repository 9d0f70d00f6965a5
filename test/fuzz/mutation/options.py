"""Random command lines of the tools, in this process: exit codes as documented, and no error that calls itself a bug."""
import contextlib
import io
import os
import random
import tempfile
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import onnx

from legato.passes.pipeline.registry import PASSES
from mutation.bytes import mutated_bytes
from mutation.case import Finding
from mutation.saved_files import onnx_model
from mutation.stages import GRAPHS

TOOLS = ("legato-opt", "legato-compile", "legato-run")
VALUES = ("", "0", "1", "-1", "x", "llvm", "nvvm", "llvm{threads=2}", "legalized", "fused", "relax", "ll", "imported", "x=4,8", "x=n,8",
          "n=3", "n=0", "n=-1", "1e9", "99999999999", "x=x.npy", "out.mlir", "out.svg", "nowhere/out.mlir", "relax-legalize",
          "canonicalize", "{", "}", "a=b=c", "é", "bash", "json", "table", "onnxruntime", "mlir", "script", "\n", "/dev/null", ".",
          "model.onnx", "graph.mlir", "any")
SLOW = ("--bench", "--profile", "--report-html", "--view")


@cache
def known_options(tool: str) -> list[str]:
    """The options of a tool."""
    if tool == "legato-opt":
        from legato.tools.opt_arguments import ALIASES, SWITCHES, VALUED

        return [*(f"--{name}" for name in (*VALUED, *SWITCHES, *ALIASES)), *(f"--{name}" for name in PASSES)]
    parser = import_module(f"legato.tools.{tool.replace('-', '_')}").parser()
    return [text for action in parser._actions for text in action.option_strings if text not in SLOW]


def command(seed: int) -> list[str]:
    """A command line, the tool first."""
    chance = random.Random(seed)
    tool = chance.choice(TOOLS)
    words = [chance.choice(("model.onnx", "graph.mlir", "model.onnx", "graph.mlir", "nothing.onnx", "-", "", "broken.onnx", "broken.mlir"))]
    if tool == "legato-run" and chance.random() < 0.6:
        words.append("--random")
    if tool == "legato-compile" and chance.random() < 0.6:
        words += ["--emit", chance.choice(("relax", "legalized", "fused", "imported"))]
    for _ in range(chance.choice((1, 1, 2, 2, 3, 4))):
        option = chance.choice(known_options(tool))
        if chance.random() < 0.05:
            option = mutated_bytes(option.encode(), chance).decode("utf-8", "replace").replace("\0", "")
        words += chance.choice(([option], [option, chance.choice(VALUES)], [f"{option}={chance.choice(VALUES)}"],
                                [f"{option}={chance.choice(VALUES)}"]))
    chance.shuffle(words)
    return [tool, *words]


class Options:
    """The subject."""

    def content(self, seed: int) -> tuple[str, bytes]:
        return "words.txt", "\n".join(map(repr, command(seed))).encode()

    def run(self, seed: int, mark: Any) -> Finding | None:
        tool, *words = command(seed)
        main = import_module(f"legato.tools.{tool.replace('-', '_')}").main
        before = os.getcwd()
        out, err = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True), io.StringIO()
        with tempfile.TemporaryDirectory() as folder, open(os.devnull) as nothing:
            os.chdir(folder)
            onnx.save(onnx_model(), "model.onnx")
            Path("graph.mlir").write_text(GRAPHS["layers"])
            Path("broken.onnx").write_bytes(onnx_model().SerializeToString()[:-40])
            Path("broken.mlir").write_text(GRAPHS["layers"][:-40])
            import sys

            sys.stdin = nothing
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                    code = main(words)
            except SystemExit as exit_:
                code = exit_.code
            finally:
                os.chdir(before)
        said = err.getvalue()
        if code not in (0, 1, 2, None):
            return Finding("exception", f"{tool} {words}: exit code {code}: {said[-600:]}")
        if "internal error" in said or ("Traceback" in said and "--debug" not in " ".join(words)):
            return Finding("internal error", f"{tool} {words}: {said[-600:]}")
        if code and not said.strip():
            return Finding("exception", f"{tool} {words}: exit code {code} without a message")
        return None
