"""Pipelines and passes of a user's own, from the public face: targets and backends in options, passes by name in stages and compiles."""
from dataclasses import dataclass

import numpy as np
import pytest

import legato
from legato.core.mlir import ir
from legato.dialects import Module
from legato.passes.pipeline.base import option
from legato.patterns import is_op, wildcard
from legato.targets.pipelines import cpu_stages

GRAPH = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "relax.exp"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "relax.relu"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"""
X = np.array([-1, 0, 1, 2], np.float32)
SEEN: list[tuple[str, str]] = []


class See(legato.ModulePass):
    """Records which ops there are; not a dataclass."""

    name = "user-see"

    def run(self, module, context):
        text = str(module)
        SEEN.append((self.name, next(word for word in ("llvm.func", "memref", "vector", "linalg", "relax.exp", "relax.") if word in text)))


@dataclass(frozen=True)
class Swap(legato.ModulePass):
    """Replaces an op by another."""

    name = "user-swap"
    to: str = option("relax.exp", "the new op")

    def run(self, module, context):
        for op in list(module.function().body.blocks[0].operations):
            if op.operation.name == "relax.exp":
                operation = op.operation
                with ir.InsertionPoint(op), op.location:
                    new = ir.Operation.create(self.to, [operation.results[0].type], list(operation.operands))
                operation.results[0].replace_all_uses_with(new.results[0])
                operation.erase()


@dataclass(frozen=True)
class Registered(Swap):
    """Swap, known by name in the whole process."""

    name = "user-registered-swap"


legato.register_pass(Registered)


@pytest.fixture
def module():
    SEEN.clear()
    return Module.parse(GRAPH)


def test_a_pipeline_resolves_targets_and_backends(module):
    legato.Pipeline("relax-legalize{target=llvm{threads=1}},func.func(canonicalize)").run(module)
    assert "linalg" in str(module)


@pytest.mark.parametrize("context", [None, legato.PassContext()], ids=["no context", "a plain context"])
def test_a_pipeline_takes_targets_and_backends_as_values(context):
    class Relus(legato.Backend):
        name = "relus"
        patterns = [("relu", is_op("relax.relu")(wildcard()))]

    own = legato.Target("unregistered", parents=("llvm",), passes=(See,))
    module = Module.parse(GRAPH)
    passes = "relax-fuse-by-pattern{backend=relus},relax-outline-external,relax-inline-external,relax-inline,user-see," \
             "relax-legalize{target=unregistered}"
    SEEN.clear()
    legato.Pipeline(passes, targets=[own], backends=[Relus]).run(module, context)
    assert SEEN == [("user-see", "relax.exp")] and "linalg" in str(module)


@pytest.mark.parametrize("target", ["llvm", legato.Target("unregistered", parents=("llvm",))], ids=["by name", "a value"])
def test_the_target_of_a_whole_pipeline(module, target):
    legato.Pipeline("relax-legalize{target=%s}", target=target).run(module)
    assert "linalg" in str(module)


def test_an_unknown_target_is_refused_before_anything_runs(module):
    with pytest.raises(legato.LegatoError, match="unknown target 'lvm'; did you mean 'llvm'"):
        legato.Pipeline("user-registered-swap{to=relax.tanh},relax-legalize{target=lvm}").run(module)
    assert "relax.exp" in str(module)
    with pytest.raises(legato.LegatoError, match="unknown target 'lvm'"):
        legato.Pipeline("relax-legalize{target=lvm}").check()


def test_passes_by_name_in_the_stages_of_a_target(module):
    def stages(target):
        return [(name, f"{text},user-see" if name in ("legalized", "bufferized") else text) for name, text in cpu_stages(target)]

    own = legato.Target("staged", parents=("llvm",), stages=stages, passes=(See,))
    heir = legato.Target("heir", parents=(own,))
    for target in (own, heir):
        SEEN.clear()
        np.testing.assert_allclose(legato.compile(module, target)(X), np.exp(X), rtol=1e-6)
        assert SEEN == [("user-see", "linalg"), ("user-see", "memref")]
    with pytest.raises(legato.LegatoError, match='there is no pass "user-see"'):
        legato.compile(module, legato.Target("staged", parents=("llvm",), stages=stages))


@pytest.mark.parametrize("passes", [
    "user-registered-swap{to=relax.tanh}", Swap("relax.tanh"), ["user-registered-swap{to=relax.tanh},cse", See()],
    {"relax": "user-registered-swap{to=relax.tanh}"}, {"relax": [Swap("relax.tanh"), "cse"], "fused": See()},
])
def test_passes_of_a_compile(module, passes):
    executable = legato.compile(module, passes=passes)
    np.testing.assert_allclose(executable(X), np.maximum(np.tanh(X), 0), rtol=1e-6)
    assert "relax.tanh" in {record.op for record in legato.explain(module, passes=passes).records}
    assert ("relax.exp" in str(module)) and "linalg" in str(legato.lower(module, passes=passes, last="legalized"))


def test_passes_run_at_the_end_of_their_stage(module):
    legato.compile(module, passes={stage: See() for stage in ("relax", "legalized", "scheduled", "bufferized", "llvm")})
    assert [what for _, what in SEEN] == ["relax.exp", "linalg", "vector", "memref", "llvm.func"]


@pytest.mark.parametrize(("passes", "message"), [
    ("user-se", 'there is no pass "user-se"'), ({"relaxed": "cse"}, "no stage 'relaxed'; did you mean 'relax'"),
    ("user-registered-swap{too=1}", 'no option "too"; did you mean "to"'), ([3], "not of int"),
])
def test_passes_that_are_refused(module, passes, message):
    with pytest.raises(legato.LegatoError, match=message):
        legato.compile(module, passes=passes)


def test_names_that_cannot_be_registered():
    def named(text):
        return type("Other", (legato.ModulePass,), {"name": text})

    with pytest.raises(legato.LegatoError, match='two passes are called "user-registered-swap"'):
        legato.register_pass(named("user-registered-swap"))
    with pytest.raises(legato.LegatoError, match='two passes are called "relax-legalize"'):
        legato.register_pass(named("relax-legalize"))
    with pytest.raises(legato.LegatoError, match="the name of a pass of upstream MLIR"):
        legato.register_pass(named("cse"))
    with pytest.raises(legato.LegatoError, match="kebab-case"):
        legato.register_pass(named("User_See"))
    with pytest.raises(legato.LegatoError, match="has no name"):
        legato.register_pass(type("Nameless", (legato.ModulePass,), {}))
    with pytest.raises(legato.LegatoError, match=r"a pass is a subclass of legato.ModulePass"):
        legato.register_pass(See())
    assert legato.register_pass(Registered) is Registered
