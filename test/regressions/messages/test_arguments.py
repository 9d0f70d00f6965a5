"""Arguments of another kind than the function takes: the error names the argument and what it takes."""
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import legato
from legato.script import relax as R
from legato.script import tir as T
from legato.tools.user_file import load_user_file, register_user_files


@R.function
def graph(x: R.Tensor((4,), "float32")):
    return R.nn.relu(x)


@T.prim_func
def kernel(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            B[vi] = A[vi] + T.float32(1)


@pytest.fixture(scope="module")
def exe():
    return legato.compile(graph)


@dataclass(frozen=True)
class UserFails(legato.ModulePass):
    """A pass that raises."""

    name: ClassVar[str] = "user-fails"

    def run(self, module, context):
        del module, context
        raise KeyError("x")


@pytest.mark.parametrize(("options", "said"), [
    ({"instrumentation": 3}, "instrumentation= takes an Instrumentation of .*, not int"),
    ({"progress": "x"}, "progress= is called with the name of a stage and its seconds; it is str: 'x'"),
    ({"reproducer": 3}, "reproducer= is a path, .* not int: 3"),
    ({"check": True}, r"check= takes a legato\.PassChecker\(\.\.\.\), not bool"),
    ({"from_stage": 3}, "the name of a stage is a text, not int: 3"),
    ({"passes": {3: "cse"}}, "the name of a stage is a text, not int: 3"),
])
def test_of_compile(options, said):
    with pytest.raises(legato.LegatoError, match=said):
        legato.compile(graph, **options)
    with pytest.raises(legato.LegatoError, match=said):
        legato.lower(graph, **options)


@pytest.mark.parametrize(("mistake", "said"), [
    (lambda exe: legato.lower(graph, last=3), "the name of a stage is a text, not int: 3"),
    (lambda exe: legato.load(3), "a saved model is a path, .* not int: 3"),
    (lambda exe: legato.load(b"model"), "a saved model is a path, .* not bytes"),
    (lambda exe: exe.save(None), "what a model is saved as is a path, .* not None"),
    (lambda exe: exe.save("unused.legato", linker=3), "linker= is a text, not int: 3"),
    (lambda exe: legato.profile(exe, np.zeros(4, np.float32), runs="3"), "runs= is a whole number, not str: '3'"),
    (lambda exe: legato.profile(exe, np.zeros(4, np.float32), warmup=1.5), "warmup= is a whole number, not float: 1.5"),
    (lambda exe: legato.profile(exe, np.zeros(4, np.float32), peaks=3), "peaks= is True, False, or Peaks of .*, not int: 3"),
    (lambda exe: legato.Module.load(3), "what a module is loaded from is a path, .* not int: 3"),
    (lambda exe: legato.Module.parse(3), "MLIR is parsed from a text, or bytecode, not from int"),
    (lambda exe: graph.module().save(3), "what a module is saved as is a path, .* not int: 3"),
    (lambda exe: legato.Pipeline("cse", reproducer=3), "reproducer= is a path, .* not int: 3"),
    (lambda exe: legato.Pipeline("cse", instrumentation=3), "instrumentation= takes an Instrumentation"),
    (lambda exe: legato.Pipeline("cse").run(graph.module(), 3), "the context of a run is a PassContext of .*, not int"),
    (lambda exe: legato.script.parse(3), "a script is parsed from a text, not from int"),
    (lambda exe: legato.reduce(3, "false"), "what is reduced, .* is a path, .* not int: 3"),
    (lambda exe: legato.attach_schedule("kernel", "kernel", ""), "a schedule is attached to a kernel of a legato.Module, .* not of str"),
    (lambda exe: legato.attach_schedule(kernel, "kernel", 3), "a schedule is the text of a script, .* not int"),
    (lambda exe: legato.Schedule(kernel).replay(3), "a schedule is the text of a script, .* not int"),
    (lambda exe: legato.Schedule(kernel).knob(3, 4), "knob: takes a name and a list of numbers, .* not 3, 4"),
    (lambda exe: scheduled("cache_read", 0, 5), "cache_read: 'scope' is a text, not 5"),
    (lambda exe: scheduled("cache_read", 0, ""), "cache_read: '' names no memory: a scope is 'global', 'shared', 'local' or a"),
    (lambda exe: scheduled("cache_write", 0, "a b"), "cache_write: 'a b' names no memory"),
    (lambda exe: scheduled("set_scope", 0, "sha red"), "set_scope: 'sha red' names no memory"),
    (lambda exe: scheduled("tensorize", 3), "tensorize: 'intrinsic' is a text, not 3"),
])
def test_of_others(exe, mistake, said):
    with pytest.raises(legato.LegatoError, match=said):
        mistake(exe)


def scheduled(step, *given):
    sch = legato.Schedule(kernel)
    getattr(sch, step)(sch.get_block("B"), *given)


def test_numbers_of_numpy_are_numbers(exe):
    assert legato.profile(exe, np.zeros(4, np.float32), runs=np.int64(2), warmup=np.int32(1), peaks=False).runs == 2


def test_a_pass_that_raises():
    """The error is Legato's, names the pass and the line, and has the user's as its cause."""
    said = r"^the pass user-fails \(messages/test_arguments\.py:\d+\) raised KeyError: 'x' \(at messages/test_arguments\.py:\d+ in run\)"
    with pytest.raises(legato.LegatoError, match=said) as caught:
        legato.compile(graph, passes=[UserFails()])
    assert isinstance(caught.value.__cause__, KeyError) and not hasattr(caught.value, "__notes__")


TARGET = "import legato\none = legato.Target('loaded-twice', parents=('llvm',))\nagain = one\n"


def test_targets_of_one_name(tmp_path):
    file, other = tmp_path / "one.py", tmp_path / "two.py"
    file.write_text(TARGET)
    assert [target.name for target in load_user_file(str(file)).targets] == ["loaded-twice"]
    other.write_text(TARGET)
    with pytest.raises(legato.LegatoError, match=r"two targets are named 'loaded-twice'"):
        register_user_files([str(file), str(other)])
    file.write_text(TARGET.replace("= one", "= legato.Target('loaded-twice', parents=('generic',))"))
    with pytest.raises(legato.LegatoError, match=r"--load .*one\.py: two targets are named 'loaded-twice'"):
        load_user_file(str(file))
