"""No pass runs upstream passes in secret: each that a registered pass runs inside of itself is named by the pass's help."""
import ast
import re
import shlex
import threading
from pathlib import Path

import pytest

from legato.core import upstream
from legato.driver import lower
from legato.examples.minilm import model as minilm
from legato.frontends.onnx import from_onnx
from legato.passes.pipeline.pipeline import PassPipeline
from legato.passes.pipeline.registry import all_passes
from legato.passes.pipeline.upstream import places
from legato.targets.pipelines import BUFFERIZE
from legato.tools import legato_opt

ROOT = Path(__file__).parents[3]
HERE = ROOT / "test" / "passes"
SCRIPT = "transform script"
WORD = re.compile(r"[a-z][a-z0-9.-]*")


class Inside:
    """What registered passes have run inside of themselves: the names of passes, by the name of the registered pass."""

    def __init__(self):
        self.passes: dict[str, set[str]] = {one.name: set() for one in all_passes()}
        self.stacks: dict[int, list[str]] = {}

    @property
    def running(self) -> list[str]:
        """The passes that run in this thread: another one compiles the entry's code meanwhile."""
        return self.stacks.setdefault(threading.get_ident(), [])

    def note(self, names):
        if self.running and self.running[-1]:
            self.passes[self.running[-1]] |= names

    def watch(self, patch):
        """Watches `run` of the registered passes, and the two functions of core/upstream.py by which they can run anything."""
        for one in all_passes():
            patch.setattr(one, "run", self.counted(one.name, one.run))
        parse, apply = upstream.passmanager.PassManager.parse, upstream.interpreter.apply_named_sequence

        class Manager:
            @staticmethod
            def parse(text, context=None):
                self.note(set(WORD.findall(text)) & set(places()))
                return parse(text, context=context)

        class Passes:
            PassManager = Manager

        class Interpreter:
            @staticmethod
            def apply_named_sequence(payload, sequence, script):
                self.note({SCRIPT})
                return apply(payload, sequence, script)

        patch.setattr(upstream, "passmanager", Passes)
        patch.setattr(upstream, "interpreter", Interpreter)
        run_pipeline = PassPipeline.run

        def told(pipeline, module, context=None):  # relax-run-codegen runs the backend's own pipeline, whose passes tell for themselves
            self.running.append("")
            try:
                run_pipeline(pipeline, module, context)
            finally:
                self.running.pop()

        patch.setattr(PassPipeline, "run", told)

    def counted(self, name, run):
        """`run` of a pass, with the name known while it runs."""
        def counted(pass_, module, context):
            self.running.append(name)
            try:
                run(pass_, module, context)
            finally:
                self.running.pop()
        return counted


@pytest.fixture(scope="module")
def inside(tmp_path_factory):
    """What ran inside of passes: in the lit tests of passes, and in a model for a CPU and a GPU."""
    folder = tmp_path_factory.mktemp("out")
    minilm.save(folder / "minilm.onnx", minilm.build())
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        made = Inside()
        made.watch(patch)
        for words in lit_runs():
            legato_opt.main([*words, "-o", str(folder / "out.mlir")])
        for target in ("llvm{threads=2}", "nvvm"):
            lower(from_onnx(folder / "minilm.onnx"), target)
    return made.passes


def lit_runs():
    """The arguments of legato-opt in the lit tests of passes, without those that need more than the test's own file."""
    for path in sorted(HERE.rglob("*.mlir")):
        for line in re.findall(r"// RUN: legato-opt (%s .*?) (?:2>&1 )?\|", path.read_text()):
            words = line.replace("%s", str(path)).replace("%{bufferize}", f"{BUFFERIZE},tir-extract-workspaces,cse")
            if "%" not in words:
                yield shlex.split(words)


@pytest.mark.thorough
def test_help_names_what_runs_inside(inside):
    helps = {one.name: one.help() for one in all_passes()}
    unnamed = {name: sorted(one for one in ran if not is_named(one, helps[name])) for name, ran in inside.items()}
    assert not {name: passes for name, passes in unnamed.items() if passes}


def is_named(name, text):
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", " ".join(text.split())) is not None


@pytest.mark.thorough
def test_what_runs_inside_was_seen(inside):
    """The runs above reach the passes that are one unit for a reason; the list is all there is."""
    reshape = {"canonicalize", "linalg-generalize-named-ops", "cse"}
    assert {name: ran for name, ran in inside.items() if ran} == {
        "tir-raise-loops": {"canonicalize", "cse", SCRIPT},
        "tir-pointwise-matmuls": {"canonicalize"},
        "tir-to-loops": {*reshape, "eliminate-empty-tensors", "one-shot-bufferize", "convert-linalg-to-loops", "fold-memref-alias-ops",
                         "lower-affine"},
        "tir-fuse-attention": {"inline", "symbol-dce", "canonicalize", "cse"},
        "tir-fuse": {"inline", "symbol-dce"},
        "tir-fuse-slices": {"inline", "symbol-dce"},
        "tir-collapse-dims": {"linalg-generalize-named-ops"},
        "tir-schedule": {SCRIPT},
        "tir-apply-schedules": {*reshape, "transform-interpreter"},
        "tir-copy-for-rows": reshape,
        "tir-default-schedules": {*reshape, "transform-interpreter"},
        "tir-lower-threads": {"cse"},
        "tir-eliminate-empty-tensors": {"eliminate-empty-tensors"},
        "tir-lower-packed": {"convert-scf-to-cf"},
        "tir-lower-vectors": {SCRIPT},
        "tir-expand-metadata": {"expand-strided-metadata", "lower-affine"},
    }


def test_one_file_runs_upstream():
    """No other file can run upstream passes or scripts: core/mlir.py gives them out, and only one takes them to run anything."""
    takes = {}
    for folder in ("analysis", "codegen", "core", "dialects", "frontends", "legato", "passes", "runtime", "schedule", "targets"):
        for path in (ROOT / folder).rglob("*.py"):
            taken = {alias.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)
                     for alias in node.names if (node.module or "").endswith("core.mlir")}
            if taken & {"passmanager", "interpreter"}:
                takes[str(path.relative_to(ROOT))] = sorted(taken & {"passmanager", "interpreter"})
    assert takes == {"core/upstream.py": ["interpreter", "passmanager"],
                     "passes/pipeline/upstream.py": ["passmanager"],            # lets MLIR parse text, to check it
                     "legato/mlir.py": ["interpreter", "passmanager"]}          # gives users all of upstream
