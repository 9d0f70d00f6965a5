"""What --print-pipeline prints is what runs: pass by pass, each in a process of its own, it gives the IR of --emit at every stage."""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import numpy_helper
from thoroughly import thorough

from bench import light
from legato.core.weights_beside import weights_file
from legato.dialects import Module
from legato.examples.minilm import model as minilm
from legato.passes.pipeline.registry import PASSES
from legato.script import tir as T
from legato.tools import legato_compile

TESTS = Path(__file__).parents[1]
SMALL = ("dynamic", "kernel")
SERVER = """
import json, os, sys
from legato.passes.pipeline.registry import all_passes
from legato.targets.catalog import Catalog
from legato.tools import legato_opt, opt_input, opt_session, opt_setup
all_passes()
for line in sys.stdin:
    process = os.fork()
    if process == 0:
        os._exit(legato_opt.main(json.loads(line)))
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), flush=True)
"""

DYNAMIC = """
func.func @main(%x: tensor<?x64xf16, #relax.dims<["n", 64]>> {relax.name = "x"}) -> tensor<?x?xf16, #relax.dims<["n", "n"]>> {
  %0 = "relax.permute_dims"(%x) {axes = array<i64: 1, 0>} : (tensor<?x64xf16, #relax.dims<["n", 64]>>) -> tensor<64x?xf16, #relax.dims<[64, "n"]>>
  %1 = "relax.matmul"(%x, %0) : (tensor<?x64xf16, #relax.dims<["n", 64]>>, tensor<64x?xf16, #relax.dims<[64, "n"]>>) -> tensor<?x?xf16, #relax.dims<["n", "n"]>>
  %2 = "relax.softmax"(%1) : (tensor<?x?xf16, #relax.dims<["n", "n"]>>) -> tensor<?x?xf16, #relax.dims<["n", "n"]>>
  return %2 : tensor<?x?xf16, #relax.dims<["n", "n"]>>
}
"""  # noqa: E501


@T.prim_func
def scaled_rows(x: T.Buffer((64, 48), "float32"), y: T.Buffer((64, 48), "float32")):
    for i in T.thread_binding(64, "blockIdx.x"):
        for j in T.thread_binding(48, "threadIdx.x"):
            with T.block("y"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = T.exp(x[vi, vj]) * T.float32(2)


@pytest.fixture(scope="module")
def opt():
    """legato-opt, each call in a process of its own; they are forked, because to import all again for each pass would take minutes."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None and server.stdout is not None
        to_server, answers = server.stdin, server.stdout

        def run(*words):
            to_server.write(json.dumps([str(word) for word in words]) + "\n")
            to_server.flush()
            assert answers.readline() == "0\n", words

        yield run
        to_server.close()


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Files: ResNet-50, whole, and short and narrow; MiniLM of dynamic sizes; a small graph of dynamic size; a kernel by hand."""
    folder = tmp_path_factory.mktemp("models")
    files = {name: folder / f"{name}.onnx" for name in ("resnet50", "narrow", "minilm")}
    files["resnet50"].write_bytes(light.shipped("resnet50").SerializeToString())
    files["narrow"].write_bytes(narrow(short(light.shipped("resnet50"))).SerializeToString())
    minilm.save(files["minilm"], minilm.build())
    files |= {name: folder / f"{name}.mlir" for name in ("dynamic", "kernel")}
    files["dynamic"].write_text(DYNAMIC)
    scaled_rows.module().save(files["kernel"])
    return files


def short(model):
    """ResNet-50's first four blocks, and its classifier: blocks that keep the image's size, that halve it, and that repeat another."""
    nodes, sizes = list(model.graph.node), {tensor.name: tensor for tensor in model.graph.initializer}
    end = [number for number, node in enumerate(nodes) if node.op_type == "Sum"][3] + 1   # the activation of the last block's sum
    (pool,) = [number for number, node in enumerate(nodes) if node.op_type == "AveragePool"]
    nodes[pool].input[0] = nodes[end].output[0]
    (window,) = [one for one in nodes[pool].attribute if one.name == "kernel_shape"]
    window.ints[:] = [28, 28]
    for name, shape in (("OC2_DUMMY_1", [1, 512]), ("gpu_0/pred_w_0__SHAPE", [1000, 512])):   # 512 channels are left, not 2048
        sizes[name].CopyFrom(numpy_helper.from_array(np.int64(shape), name))
    kept = [*nodes[:end + 1], *nodes[pool:]]
    read = {name for node in kept if node.op_type != "ConstantOfShape" for name in node.input}
    kept = [node for node in kept if node.op_type != "ConstantOfShape" or node.output[0] in read]
    read |= {name for node in kept for name in node.input}
    for there, left in ((model.graph.node, kept), (model.graph.initializer, [one for one in model.graph.initializer if one.name in read])):
        left = [type(one).FromString(one.SerializeToString()) for one in left]
        del there[:]
        there.extend(left)
    return model


def narrow(model, factor=4):
    """The model with fewer channels: its weights, written after each pass, would take most of the time."""
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype == np.int64:  # a shape: of a convolution's weight, of the classifier's and its operand, or of a parameter
            sizes = array.tolist()
            channels = {4: (0, 1), 2: (1,), 1: (0,)}[len(sizes)]
            array = np.int64([d // factor if i in channels and d not in (3, 1000) else d for i, d in enumerate(sizes)])
        elif array.ndim == 1:
            array = array[: len(array) // factor]
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    del model.graph.input[1:]  # the rest are the initializers, with their old shapes
    return model


def printed(target, capsys):
    """The stages of --print-pipeline: name to passes, one a line."""
    assert legato_compile.main(["--print-pipeline", "--target", target]) == 0
    stages, passes = {}, []
    for line in capsys.readouterr().out.splitlines():
        if line.startswith("// "):
            passes = stages[line.removeprefix("// ")] = []
        else:
            passes.append(line.removesuffix(","))
    return stages


def check_stages(model, target, opt, tmp_path, capsys, each_pass):
    """A small model is compiled as far as each stage; one that takes long from stage to stage, and once to the last."""
    at = tmp_path / "0.mlir"
    assert legato_compile.main([str(model), "--emit", "imported", "-q", "-o", str(at)]) == 0
    words, stages = [str(model)], printed(target, capsys)
    for stage, passes in stages.items():
        for text in passes if each_pass else [",".join(passes)]:
            following = at.with_name(f"{int(at.stem) + 1}.mlir")
            opt(at, f"--pass-pipeline={text}", "--mlir-print-debuginfo", "-o", following)
            for file in (at, weights_file(at)):
                file.unlink(missing_ok=True)
            at = following
        emitted = tmp_path / f"{stage}.mlir"
        assert legato_compile.main([*words, "--target", target, "--emit", stage, "-q", "-o", str(emitted), "--mlir-print-debuginfo"]) == 0
        same(at, emitted)
        if model.stem not in SMALL:
            words = [str(emitted), "--from-stage", stage]
    if model.stem not in SMALL:
        emitted = tmp_path / "whole.mlir"
        assert legato_compile.main([str(model), "--target", target, "--emit", [*stages][-1], "-q", "-o", str(emitted)]) == 0
        same(at, emitted)


def same(one, other):
    """Two files hold the same ops and the same weights."""
    a, b = Module.load(one), Module.load(other)
    assert str(a.module) == str(b.module), other.stem
    assert sorted(a.weights) == sorted(b.weights)
    assert all(np.array_equal(a.weights[key], b.weights[key]) for key in a.weights)


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["llvm{threads=2}", "nvvm"])
@pytest.mark.parametrize("name", ["kernel", "narrow", "dynamic"])
def test_pass_by_pass(name, target, models, opt, tmp_path, capsys):
    check_stages(models[name], target, opt, tmp_path, capsys, each_pass=True)


@pytest.mark.parametrize("name, target", [("minilm", "llvm"), *thorough([("resnet50", "llvm"), ("narrow", "nvvm"), ("minilm", "nvvm")], 2)])
def test_stage_by_stage(name, target, models, opt, tmp_path, capsys):
    check_stages(models[name], target, opt, tmp_path, capsys, each_pass=False)


def test_all_of_it_at_once(models, opt, tmp_path, capsys):
    """The whole text, with its comments, is one pipeline."""
    assert legato_compile.main(["--print-pipeline", "--target", "llvm"]) == 0
    text = capsys.readouterr().out
    start, end, emitted = (tmp_path / f"{name}.mlir" for name in ("start", "end", "emitted"))
    assert legato_compile.main([str(models["kernel"]), "--emit", "imported", "-q", "-o", str(start)]) == 0
    opt(start, f"--pass-pipeline={text}", "--mlir-print-debuginfo", "-o", end)
    assert legato_compile.main([str(models["kernel"]), "--emit", "llvm", "-q", "-o", str(emitted)]) == 0
    same(end, emitted)


def test_each_pass_has_a_lit_test_of_its_name():
    names = {path.stem for suffix in ("mlir", "test") for path in TESTS.rglob(f"*.{suffix}")}
    missing = [name for name in PASSES if name.split("-", 1)[1].replace("-", "_") not in names]
    assert not missing


