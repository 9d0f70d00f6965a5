"""bench.gpu: kernels on Vulkan and on the stand-in for CUDA's driver, checked results, and what it writes."""
import json

import numpy as np
import pytest
from vulkan_driver import needs_vulkan

import legato
from bench.gpu import __main__ as command
from bench.gpu import cases, engines, peaks
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


def test_for_cuda(tmp_path, monkeypatch, capsys):
    """On the stand-in; a wrong result has no time, and is the command's exit code."""
    pytest.importorskip("llvmlite")
    from standin import compiled

    for where in (engines, peaks):
        monkeypatch.setattr(where, "compiled", lambda module, target: compiled(module, target))
    target = "nvvm{approx=true}"
    code, found = run(tmp_path, "bert-qkv", "--target", target, "--precisions", "f16,tf32")
    assert code == 0
    assert [row["precision"] for row in found["results"]] == ["tf32", "f16"] and found["peaks"]["tensor"] > 0
    assert found["results"][0]["errors"]["legato"] > 1e-6      # factors are rounded
    expected = engines.reference
    monkeypatch.setattr(engines, "reference", lambda case: expected(case) + 1)
    code, found = run(tmp_path, "gemv", "--target", target, "--precisions", "f32")
    assert code == 1 and found["results"][0]["milliseconds"]["legato"] is None
    assert "legato is wrong for gemv in f32: an error of" in capsys.readouterr().err


def test_the_peak_is_of_registers():
    """The loop of multiply-adds reads and writes no memory."""
    pytest.importorskip("llvmlite")
    text = ptx(legato.lower(peaks.multiply_adds(2), "nvvm"), Catalog().resolve("nvvm"))
    assert text.count("ld.global") == text.count("st.global") == 1 and ".local" not in text and "fma.rn.f32" in text


def test_without_a_device(monkeypatch, capsys):
    monkeypatch.setenv("LEGATO_LIBCUDA", "/nowhere/libcuda.so.1")
    assert command.main(["gemv", "--small"]) == 1
    assert "the target 'nvvm' does not run here: " in capsys.readouterr().err


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
