"""Cost passes and options of backends are given to a compile, a lowering, an explanation and the tools, as to ``legato.partition``."""
# pyright: reportInvalidTypeForm=false
import contextlib
import io

import numpy as np
import pytest

import legato
from legato import relax
from legato.artifacts import Closure
from legato.passes.partition.costs import groups, veto
from legato.patterns import is_op
from legato.tools import legato_compile, legato_run

SEEN: list[dict[str, str]] = []
FILE = '''
import legato
from legato.artifacts import Closure
from legato.patterns import is_op

class Doubler(legato.Backend):
    name = "doubler"
    options = ["tile", "level"]
    patterns = [("relu", is_op("relax.relu"))]

    def codegen(self, module, options):
        raise legato.LegatoError(f"the options are {dict(options)}")
'''


@relax.function
def two(x: relax.Tensor((4,), "float32")):
    with relax.dataflow():
        y = relax.nn.relu(relax.tanh(x))
        relax.output(y)
    return y


def apply(one, two):
    np.from_dlpack(two)[...] = np.maximum(np.from_dlpack(one), 0)


class Positive(legato.Backend):
    name = "positive"
    options = ("tile", "level")
    patterns = [("relu", is_op("relax.relu"))]

    def codegen(self, module, options):
        SEEN.append(dict(options))
        names = [f.name.value for f in module.functions()]
        return [Closure(apply, (name,)) for name in names]


class Never(legato.ModulePass):
    name = "test-never"

    def run(self, module, context):
        for group in groups(module):
            veto(group, "never")


def test_options_reach_code_generation():
    SEEN.clear()
    legato.lower(two.module(), backends=[Positive], backend_options={"positive": "tile=16 level=2"})
    assert SEEN == [{"tile": "16", "level": "2"}]


def test_options_of_no_backend_are_an_error():
    with pytest.raises(legato.LegatoError, match="options for 'other'"):
        legato.lower(two.module(), backends=[Positive], backend_options={"other": "a=1"})


def test_cost_passes_decide():
    explained = legato.explain(two.module(), backends=[Positive], costs=[Never()])
    assert [r.reason for r in explained.partition] == ["vetoed: never"]
    x = np.linspace(-1, 1, 4, dtype=np.float32)
    found = np.from_dlpack(legato.compile(two.module(), backends=[Positive], costs=[Never()])(x))
    np.testing.assert_allclose(found, np.maximum(np.tanh(x), 0), rtol=1e-6)


def test_tools_take_options(tmp_path):
    (tmp_path / "mine.py").write_text(FILE)
    two.module().save(tmp_path / "two.mlir")
    command = [str(tmp_path / "two.mlir"), "--load", str(tmp_path / "mine.py"), "--emit", "llvm", "-q"]
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        assert legato_compile.main([*command, "--backend", "doubler{tile=16}"]) != 0
    assert "the options are {'tile': '16'}" in errors.getvalue()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert legato_compile.main(["--load", command[2], "--print-pipeline", "--backend", "doubler{tile=16}"]) == 0
    assert "relax-run-codegen{backend=doubler options=tile=16}" in printed.getvalue().replace('"', "")


def test_options_are_refused_before_the_model_is_read(tmp_path, capsys):
    (tmp_path / "model.onnx").write_bytes(b"no model")
    for tool, what in ((legato_compile, "--explain"), (legato_run, "--random")):
        assert tool.main([str(tmp_path / "model.onnx"), "-q", what, "--backend", "onnxruntime{x=1}"]) != 0
        assert "the backend 'onnxruntime' has no option 'x' (known: threads)" in capsys.readouterr().err
    with pytest.raises(legato.LegatoError, match="'onednn' has no options, found x"):
        legato.lower(two.module(), backends=["onednn"], backend_options={"onednn": "x=1"}, last="relax")


class Plain(Positive):
    name = "plain"
    options = ()


def test_options_that_a_backend_does_not_name():
    SEEN.clear()
    with pytest.raises(legato.LegatoError, match=r"'positive' has no option 'tlie'; did you mean 'tile'\? .known: level, tile"):
        legato.lower(two.module(), backends=[Positive], backend_options={"positive": "tlie=16"})
    with pytest.raises(legato.LegatoError, match=r"'plain' has no options, found tile, level; it would name them in its field 'options'"):
        legato.partition(two.module(), [Plain], options={"plain": "tile=16 level=2"})
    module = legato.partition(two.module(), [Plain], codegen=False)
    with pytest.raises(legato.LegatoError, match="the backend 'plain' has no options, found tile"):
        context = legato.PassContext(resolve_backend=lambda _: Plain())
        legato.Pipeline("relax-run-codegen{backend=plain options=tile=16}").run(module, context)
    assert not SEEN


class Small(Positive):
    name = "small"
    patterns = [("relu", is_op("relax.relu")), ("tanh", is_op("relax.tanh"))]
    pipeline = "relax-inline"


@pytest.mark.parametrize("backend, options, kept", [(Small, "", False), (Small, "min_ops=2", False), (Small, "min_ops=3", True),
                                                    (type("Three", (Small,), {"min_ops": 3}), "", True),
                                                    (type("Three", (Small,), {"min_ops": 3}), "min_ops=1", False)])
def test_small_groups_stay_with_the_host(backend, options, kept):
    SEEN.clear()
    explained = legato.explain(two.module(), backends=[backend], backend_options={"small": options})
    reasons = [r.reason for r in explained.partition]
    assert reasons == (["vetoed: 2 ops, fewer than the 3 that a group for 'small' has at least"] * 2 if kept else [None, None])
    assert SEEN == ([] if kept else [{}])    # code generation gets the other options
    if kept:
        assert "fewer than the 3" in str(explained)
        x = np.linspace(-1, 1, 4, dtype=np.float32)
        found = np.from_dlpack(legato.compile(two.module(), backends=[backend], backend_options={"small": options})(x))
        np.testing.assert_allclose(found, np.maximum(np.tanh(x), 0), rtol=1e-6)


def test_the_fewest_ops_are_a_number():
    for text in ("0", "-1", "few", ""):
        with pytest.raises(legato.LegatoError, match=f"'small': min_ops is '{text}', expected the fewest ops of a group"):
            legato.explain(two.module(), backends=[Small], backend_options={"small": f"min_ops={text}"})
