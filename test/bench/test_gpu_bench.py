"""bench.gpu: kernels on Vulkan and on the stand-in for CUDA's driver, checked results, what it writes, what it asks of other engines."""
import json
import sys
from contextlib import nullcontext
from math import prod
from types import SimpleNamespace

import numpy as np
import pytest
from vulkan_driver import needs_vulkan

import legato
from bench.gpu import __main__ as command
from bench.gpu import cases, engines, model_cases, peaks
from bench.gpu.peaks import GpuPeaks
from bench.gpu.report import GpuResult, gpu_page, gpu_table
from legato.codegen import vulkan as artifacts
from legato.codegen.spirv import binaries
from legato.driver import ptx
from legato.runtime.vulkan import matrices
from legato.runtime.vulkan.device import the_device
from legato.targets.catalog import Catalog


@pytest.fixture(autouse=True)
def quick(tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "DIRECTORY", tmp_path)
    monkeypatch.setattr(command, "BLOCK", 0.001)
    monkeypatch.setattr(engines, "PROFILED", 1)
    monkeypatch.setattr(peaks, "STEPS", 8)


def run(tmp_path, *words):
    """The exit code, and what was written."""
    code = command.main([*words, "--small", "--seconds", "0.001", "--json", str(tmp_path / "r.json"), "--html", str(tmp_path / "r.html")])
    return code, json.loads((tmp_path / "r.json").read_text())


@needs_vulkan
def test_on_vulkan(tmp_path, capsys):
    code, found = run(tmp_path, "gemv", "softmax", "--target", "vulkan", "--precisions", "f32")
    assert code == 0
    assert [(row["name"], row["precision"]) for row in found["results"]] == [("gemv", "f32"), ("softmax", "f32")]
    assert all(row["milliseconds"]["legato"] > 0 and row["kernels"] > 0 and row["errors"]["legato"] < 1e-5 for row in found["results"])
    assert found["peaks"]["flops"] > 0 and found["peaks"]["bandwidth"] > 0
    said = capsys.readouterr()
    assert "no rows of onnxruntime" in said.err and said.out.splitlines()[1].split()[0] == "legato"
    assert "<td>softmax<td>f32" in (tmp_path / "r.html").read_text()


@needs_vulkan
def test_chosen_engines(tmp_path, capsys):
    code, found = run(tmp_path, "softmax", "--target", "vulkan", "--precisions", "f32", "--engines", "legato")
    assert code == 0 and [list(row["milliseconds"]) for row in found["results"]] == [["legato"]]
    with pytest.raises(SystemExit):
        command.main(["softmax", "--engines", "legato,cublas"])
    assert "there is no engine cublas: --engines takes legato, legato graphs," in capsys.readouterr().err


@pytest.mark.thorough
@needs_vulkan
def test_matrices_on_vulkan(tmp_path, monkeypatch):
    """Cooperative matrices beside kernels without any, and the target that was measured; kernels as a driver without the extension takes
    them."""
    from plain_matrices import plain

    monkeypatch.setattr(artifacts, "binaries", lambda module: {name: plain(code) for name, code in binaries(module).items()})
    monkeypatch.setattr(matrices, "host", lambda: (("m16n16k32_f16_f32",), the_device().subgroups.size))
    code, found = run(tmp_path, "bert-qkv", "--target", "vulkan", "--precisions", "f16,f32")
    assert code == 0 and "matrices=m16n16k32_f16_f32" in found["machine"]["target"]
    assert [row["milliseconds"]["no matrices"] is not None for row in found["results"]] == [False, True]
    assert all(row["milliseconds"]["legato"] > 0 for row in found["results"])


@pytest.fixture
def on_standin(monkeypatch):
    """The target, whose kernels the stand-in runs."""
    pytest.importorskip("llvmlite")
    from standin import compiled

    for where in (engines, peaks):
        monkeypatch.setattr(where, "compiled", lambda module, target: compiled(module, target))
    return "nvvm{approx=true}"


def test_for_cuda(on_standin, tmp_path, monkeypatch, capsys):
    """On the stand-in; a wrong result has no time, and is the command's exit code. Rows of earlier runs stay in the file."""
    code, found = run(tmp_path, "bert-qkv", "--target", on_standin, "--precisions", "f16,tf32")
    assert code == 0
    assert [row["precision"] for row in found["results"]] == ["tf32", "f16"] and found["peaks"]["tensor"] > 0
    assert found["results"][0]["errors"]["legato"] > 1e-6      # factors are rounded
    assert found["machine"]["device"] == "Stand-in 0" and "% of its figures)" in capsys.readouterr().out
    expected = engines.reference
    monkeypatch.setattr(engines, "reference", lambda case: expected(case) + 1)
    code, found = run(tmp_path, "gemv", "bert-qkv", "--target", on_standin, "--precisions", "f32,f16")
    rows = {(row["name"], row["precision"]): row["milliseconds"]["legato"] for row in found["results"]}
    assert code == 1 and len(rows) == len(found["results"]) == 5 and rows["gemv", "f32"] is rows["bert-qkv", "f16"] is None
    assert rows["bert-qkv", "tf32"] > 0
    assert "legato is wrong for gemv in f32: an error of" in capsys.readouterr().err
    code, found = run(tmp_path, "gemv", "--target", "nvvm{approx=true graphs=true}", "--precisions", "f32")
    assert len(found["results"]) == 1       # the file was of another target


def test_what_fails_leaves_the_other_rows(on_standin, tmp_path, monkeypatch, capsys):
    """Errors of any type, of a peer and of a whole row: onnxruntime's are no RuntimeErrors."""
    class Fail(Exception):
        pass

    def fails(case, target):
        raise Fail("no kernel\nfor that")

    monkeypatch.setattr(engines, "ENGINES", {**engines.ENGINES, "onnxruntime": fails})
    code, found = run(tmp_path, "bert-qkv", "--target", on_standin, "--precisions", "f32")
    assert code == 0 and found["results"][0]["milliseconds"]["legato"] > 0
    assert "onnxruntime does not run bert-qkv in f32: Fail: no kernel\n" in capsys.readouterr().err
    expected = engines.reference

    def reference(case):
        if case.name == "bert-qkv":
            raise Fail("the device is gone")
        return expected(case)

    monkeypatch.setattr(engines, "reference", reference)
    code, found = run(tmp_path, "bert-qkv", "softmax", "--target", on_standin, "--precisions", "f32")
    assert code == 1 and [row["name"] for row in found["results"]] == ["bert-qkv", "softmax"]       # the first is the earlier run's
    assert "bert-qkv in f32 is not measured: Fail: the device is gone" in capsys.readouterr().err


def test_models_are_also_graphs(on_standin):
    from standin import driver

    (kernel,) = cases.kernel_cases("softmax", True, ["f32"])
    case = cases.GpuCase("m", "f32", kernel.path, kernel.inputs, 0, 0, is_model=True)
    assert engines.as_graphs(kernel, on_standin) is None
    assert engines.as_graphs(case, "nvvm{graphs=false}") is None and engines.as_graphs(case, "vulkan") is None
    before = driver().standin_calls(b"cuGraphLaunch")
    made = engines.as_graphs(case, on_standin)
    assert made is not None
    np.testing.assert_allclose(made.result(made.call()), engines.reference(case), rtol=1e-5, atol=1e-7)
    assert driver().standin_calls(b"cuGraphLaunch") > before


def test_onnxruntime_does_not_run_on_the_cpu_instead(monkeypatch):
    """Its sessions take the CPU with a warning, if the provider of GPUs does not start."""
    class Session:
        def __init__(self, path, providers):
            assert providers[0][0] == engines.CUDA

        def get_providers(self):
            return ["CPUExecutionProvider"]

    ort = SimpleNamespace(get_available_providers=lambda: [engines.CUDA, "CPUExecutionProvider"], InferenceSession=Session,
                          preload_dlls=lambda: None)
    monkeypatch.setattr(engines, "onnxruntime", ort)
    (case,) = cases.kernel_cases("softmax", True, ["f32"])
    with pytest.raises(RuntimeError, match="onnxruntime's CUDA provider does not start"):
        engines.onnxruntime_run(case, "nvvm")


class Torch:
    """As much of torch as the engines use, with tensors that are numpy arrays; what was asked of it is in ``asked``."""

    def __init__(self):
        self.asked = []
        self.cuda = SimpleNamespace(synchronize=lambda: self.asked.append("wait"))
        self.backends = SimpleNamespace(cuda=SimpleNamespace(matmul=SimpleNamespace(allow_tf32=None)),
                                        cudnn=SimpleNamespace(allow_tf32=None))
        self.compiler = SimpleNamespace(reset=lambda: self.asked.append("reset"))
        self.float32 = "float32"

    def inference_mode(self):
        return nullcontext()

    def compile(self, function):
        self.asked.append("compile")
        return function


class Layer:
    """A module of torch's."""

    moves = 0

    def cuda(self):
        self.moves += 1
        return self

    def __call__(self, a):
        return (a + 1, a)


def test_what_is_asked_of_torch(monkeypatch):
    """What was compiled before is forgotten first; a module goes to the device once, and not in each call."""
    torch = Torch()
    monkeypatch.setattr(engines, "torch_of_cuda", lambda: torch)
    monkeypatch.setattr(engines, "on_device", lambda torch, array: array)
    monkeypatch.setattr(engines, "from_device", lambda torch, tensor: tensor)
    (kernel,) = cases.kernel_cases("elementwise", True, ["f32"])
    made = engines.ENGINES["torch"](cases.GpuCase("k", "tf32", kernel.path, kernel.inputs, 0, 0, torch=lambda t, a, b: a * b), "nvvm")
    assert made is not None and torch.asked == []
    np.testing.assert_array_equal(made.result(made.call()), kernel.inputs["a"] * kernel.inputs["b"])
    assert torch.backends.cuda.matmul.allow_tf32 and torch.backends.cudnn.allow_tf32
    layer = Layer()
    case = cases.GpuCase("m", "f32", kernel.path, {"a": kernel.inputs["a"]}, 0, 0, module=layer, is_model=True)
    made = engines.ENGINES["torch.compile"](case, "nvvm")
    assert made is not None and torch.asked == ["reset", "compile"]
    for _ in range(3):
        np.testing.assert_array_equal(made.result(made.call()), kernel.inputs["a"] + 1)
    made.wait()
    assert layer.moves == 1 and torch.asked[2:] == ["wait"] and not torch.backends.cuda.matmul.allow_tf32


def test_models_without_torch(monkeypatch, capsys):
    """Light models are measured in torch's stead; what only torch writes is left out, and so is all where torchvision is missing."""
    monkeypatch.setattr(model_cases.models, "cases", lambda name, shipped: [SimpleNamespace(path=name, inputs={"x": np.zeros(1)})])
    monkeypatch.setitem(sys.modules, "bench.whole", None)
    monkeypatch.setattr(model_cases, "find_spec", lambda name: None)
    (case,) = command.wanted(["resnet50", "bert"], ["f32", "f16"], False)
    assert (case.name, case.precision, case.path, case.is_model, case.module) == ("resnet50", "f32", "resnet50", True, None)
    assert "bert is left out: " in (said := capsys.readouterr().err) and "torchvision transformers" in said
    monkeypatch.setattr(model_cases, "find_spec", lambda name: "found")
    assert not list(command.wanted(["resnet50"], ["f32"], False)) and "resnet50 is left out: " in capsys.readouterr().err


@pytest.mark.parametrize("name", ["gemv", "elementwise", "transpose", "heads", "softmax", "layernorm"])
def test_bandwidth_is_not_a_caches(name):
    """What is read, in halves, and written: more than an H200's cache of 60 MB holds."""
    of = cases.KERNELS[name](lambda size: size)
    assert 2 * sum(map(prod, of.shapes)) * (1 if name == "gemv" else 2) > 1.5 * 60e6


def test_the_peak_is_of_registers():
    """The loop of multiply-adds reads and writes no memory."""
    pytest.importorskip("llvmlite")
    text = ptx(legato.lower(peaks.multiply_adds(2), "nvvm"), Catalog().resolve("nvvm"))
    assert text.count("ld.global") == text.count("st.global") == 1 and ".local" not in text and "fma.rn.f32" in text


def test_without_a_device(monkeypatch, capsys):
    monkeypatch.setenv("LEGATO_LIBCUDA", "/nowhere/libcuda.so.1")
    assert command.main(["gemv", "--small"]) == 1
    assert "the target 'nvvm' does not run here: " in capsys.readouterr().err
    with pytest.raises(SystemExit):
        command.main(["gemv", "--precisions", "f16,f8"])
    assert "there is no precision f8" in capsys.readouterr().err


def test_the_report():
    peak = GpuPeaks(1e12, 1e9)
    assert peak.share(10**9, 0, "f32", 0.002) == 0.5 and peak.share(0, 10**6, "f16", 0.002) == 0.5 and peak.share(0, 0, "f32", 1) is None
    assert GpuPeaks(1e12, 1e9, 1e13).share(10**10, 0, "f16", 0.002) == 0.5
    rows = [GpuResult("<a>", "f32", {"legato": 2.0, "torch": 4.0, "onnxruntime": None}, 1.5, 0.5, {"legato": 1e-6, "torch": 1e-7}),
            GpuResult("b", "f16", {"legato": None, "torch": 4.0, "onnxruntime": None}, None, None, {})]
    assert gpu_table(rows).splitlines()[1].split() == ["<a>", "f32", "2", "4", "-", "0.50", "1.5", "50", "1e-06"]
    assert "&lt;a&gt;" in gpu_page(rows, {"target": "x"})
    array = np.array([1, np.nan], np.float32)
    assert command.error_of(array, np.float32([1, 1])) == float("inf") and command.error_of(array[:1], np.float32([2])) == 0.5
