"""Default schedules of GPUs: results against numpy on a Vulkan device, and with emulated threads; launches, races, PTX."""
import logging
import re
import subprocess

import numpy as np
import onnx
import onnx.parser
import pytest
from emulate import emulated
from vulkan_driver import needs_vulkan

import legato
from legato.codegen.cubin import find_ptxas
from legato.core.ir_helpers import find
from legato.driver import ptx
from legato.runtime.threads import openmp_runtime
from legato.targets.catalog import Catalog
from legato.targets.gpu import nests

LAYER_NORM = '"relax.layer_norm"(%x, %b, %b) {axes = array<i64: -1>, epsilon = 1.0e-05}'


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def normalized(x, b):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * b + b


# name: the graph ops of %x (of the given shape) and %b (as long as its last axis), the shape of the result, numpy's form, the launches
GRAPHS = {
    "rows of any length": ((5, 1003), ['"relax.softmax"(%x) {axis = 1}'], (5, 1003), lambda x, b: softmax(x, 1), 1),
    "short rows": ((300, 3), ['"relax.softmax"(%x) {axis = 1}'], (300, 3), lambda x, b: softmax(x, 1), 1),
    "columns": ((70, 33), ['"relax.softmax"(%x) {axis = 0}'], (70, 33), lambda x, b: softmax(x, 0), 1),
    "the axis in the middle": ((3, 5, 7), ['"relax.softmax"(%x) {axis = 1}'], (3, 5, 7), lambda x, b: softmax(x, 1), 1),
    "a norm and what follows": ((9, 200), [LAYER_NORM, '"relax.tanh"(%0)'], (9, 200), lambda x, b: np.tanh(normalized(x, b)), 1),
    "means of images": ((2, 6, 7, 5), ['"relax.mean"(%x) {axis = array<i64: 1, 2>}'], (2, 5), lambda x, b: x.mean((1, 2)), 1),
    "all in one": ((13, 77), ['"relax.sum"(%x)'], (), lambda x, b: x.sum(), 1),
    "the greatest": ((6, 500), ['"relax.max"(%x) {axis = array<i64: 1>}'], (6,), lambda x, b: x.max(1), 1),
    "one element": ((1, 1), ['"relax.softmax"(%x) {axis = 1}', '"relax.exp"(%0)'], (1, 1), lambda x, b: np.exp(softmax(x, 1)), 1),
    "a chain": ((16, 12), ['"relax.add"(%x, %b)', '"relax.relu"(%0)', '"relax.multiply"(%1, %x)'], (16, 12),
                lambda x, b: np.maximum(x + b, 0) * x, 1),
    "an odd chain": ((7, 11, 3), ['"relax.add"(%x, %b)', '"relax.exp"(%0)'], (7, 11, 3), lambda x, b: np.exp(x + b), 1),
    "a transpose": ((33, 20, 3), ['"relax.permute_dims"(%x) {axes = array<i64: 2, 0, 1>}'], (3, 33, 20),
                    lambda x, b: x.transpose(2, 0, 1), 1),
    "a transpose in tiles": ((3, 70, 41), ['"relax.permute_dims"(%x) {axes = array<i64: 2, 0, 1>}'], (41, 3, 70),
                             lambda x, b: x.transpose(2, 0, 1), 1),
    "parts one behind the other": ((6, 40), ['"tensor.concat"(%x, %x, %x) {dim = 1 : i64}'], (6, 120),
                                   lambda x, b: np.concatenate([x, x, x], 1), 1),
    "parts of odd sizes": ((5, 7, 3), ['"tensor.concat"(%x, %x) {dim = 1 : i64}'], (5, 14, 3), lambda x, b: np.concatenate([x, x], 1), 1),
    "a square transpose": ((64, 32), ['"relax.permute_dims"(%x) {axes = array<i64: 1, 0>}'], (32, 64), lambda x, b: x.T, 1),
}


def tensor(shape, symbolic=None):
    """A type; ``symbolic``: the size that is ``n``."""
    sizes = ["?" if size == symbolic else str(size) for size in shape]
    dims = ", ".join('"n"' if size == "?" else size for size in sizes)
    return f"tensor<{'x'.join([*sizes, 'f32'])}{f', #relax.dims<[{dims}]>' if symbolic in shape else ''}>"


def graph(name, symbolic=False):
    """A module with the ops of GRAPHS; the first size is ``n`` where it is symbolic."""
    shape, ops, result, _, _ = GRAPHS[name]
    size = shape[0] if symbolic else None
    x, b, out = tensor(shape, size), tensor(shape[-1:]), tensor(result, size)
    types = {"%x": x, "%b": b} | {f"%{n}": x for n in range(len(ops))}
    lines = []
    for number, op in enumerate(ops):
        given = ", ".join(types[v] for v in re.findall(r"%\w+", op))
        lines.append(f"%{number} = {op} : ({given}) -> {out if number == len(ops) - 1 else x}")
    body = "\n".join(lines)
    return legato.Module.parse(f'func.func @main(%x: {x} {{relax.name = "x"}}, %b: {b} {{relax.name = "b"}}) -> {out} {{\n{body}\n'
                               f"return %{len(ops) - 1} : {out} }}")


def arguments(name, n=None):
    """Arguments for the graph, and what numpy computes in double precision."""
    shape = GRAPHS[name][0] if n is None else (n, *GRAPHS[name][0][1:])
    random = np.random.default_rng(0)
    x, b = random.standard_normal(shape, np.float32), random.standard_normal(shape[-1:], np.float32)
    return x, b, GRAPHS[name][3](x.astype(np.float64), b.astype(np.float64))


@needs_vulkan
@pytest.mark.parametrize("name", GRAPHS)
def test_on_vulkan(name, caplog):
    with caplog.at_level(logging.WARNING, "legato"):
        exe = legato.compile(graph(name), "vulkan")
    assert not caplog.records
    *given, expected = arguments(name)
    np.testing.assert_allclose(exe(*given), expected, rtol=1e-5, atol=1e-6)


@needs_vulkan
@pytest.mark.parametrize("name", ["rows of any length", "columns", "a norm and what follows", "a chain", "an odd chain", "the greatest",
                                  "the axis in the middle", "a square transpose"])
def test_symbolic_sizes(name):
    exe = legato.compile(graph(name, symbolic=True), "vulkan")
    for n in (3, 1, 131):
        *given, expected = arguments(name, n)
        np.testing.assert_allclose(exe(*given), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(openmp_runtime() is None, reason="the emulation of threads needs an OpenMP runtime")
@pytest.mark.parametrize("name", ["short rows", "columns", "a norm and what follows"])
def test_in_emulation(name):
    """With shuffles, which the Vulkan target does not use, and threads that are held up at random."""
    exe = emulated(graph(name))
    *given, expected = arguments(name)
    np.testing.assert_allclose(exe(*given), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", GRAPHS)
def test_one_launch(name):
    for symbolic in (False, True) if GRAPHS[name][0][0] > 1 else (False,):
        lowered = legato.lower(graph(name, symbolic), "nvvm", last="outlined")
        assert len(find(lowered.operation, "gpu.launch_func")) == GRAPHS[name][4]


@pytest.mark.parametrize("name", ["short rows", "the axis in the middle", "a square transpose"])
def test_no_races_and_each_barrier_is_needed(name):
    pytest.importorskip("z3")
    from launch_races import check_launch, launches
    module = legato.lower(graph(name), "vulkan", last="scheduled")
    found = [check_launch(launch) for launch in launches(module.module)]
    assert not any(one.races or one.undecided for one in found)
    for number in range(len(find(module.operation, "gpu.barrier"))):
        seeded = module.clone()
        find(seeded.operation, "gpu.barrier")[number].erase()
        assert any(check_launch(launch).races for launch in launches(seeded.module)), f"without the barrier {number}"


def test_memory_is_moved_16_bytes_at_once_and_sums_stay_in_registers(tmp_path):
    pytest.importorskip("llvmlite")
    text = ptx(legato.lower(graph("a chain"), "nvvm"), Catalog().resolve("nvvm"))
    assert text.count("st.global.v4") == text.count("st.global") == 1 and text.count(".v4.b32") >= 3
    rows = ptx(legato.lower(graph("rows of any length"), "nvvm{approx=true}"), Catalog().resolve("nvvm"))
    assert rows.count(".entry") == 1 and rows.count("shfl") and ".local" not in rows
    if (assembler := find_ptxas()) is not None:
        (tmp_path / "k.ptx").write_text(text)
        said = subprocess.run([assembler, "-v", "-arch=sm_80", str(tmp_path / "k.ptx"), "-o", str(tmp_path / "k.cubin")],
                              check=True, capture_output=True, text=True).stderr
        assert "0 bytes spill stores, 0 bytes spill loads" in said


# graph ops on rows, by their shape: the launch's threads, loads and stores of global memory
WIDE = {"softmax": ((64, 1024), ['"relax.softmax"(%x) {axis = 1}'], 128, 2, 2), "a norm": ((64, 768), [LAYER_NORM], 96, 6, 2),
        "a chain with functions": ((64, 96), ['"relax.exp"(%x)', '"relax.multiply"(%0, %x)'], 256, 1, 1)}


@pytest.mark.parametrize("name", WIDE)
def test_rows_are_moved_16_bytes_at_once(name, monkeypatch):
    pytest.importorskip("llvmlite")
    shape, ops, threads, loads, stores = WIDE[name]
    monkeypatch.setitem(GRAPHS, name, (shape, ops, shape, None, 1))
    text = ptx(legato.lower(graph(name), "nvvm{approx=true}"), Catalog().resolve("nvvm"))
    assert f".maxntid {threads}, 1, 1" in text and len(re.findall(r"ld\.global(\.nc)?\.v4", text)) == text.count("ld.global") == loads
    assert text.count("st.global") == text.count("st.global.v4") == stores


@pytest.mark.skipif(openmp_runtime() is None, reason="the emulation of threads needs an OpenMP runtime")
def test_rows_of_other_lengths_give_the_same_with_vectors(monkeypatch):
    """Rows of a length that threads do not share evenly, in emulation: 16 bytes for some, and nothing for others."""
    for shape in ((3, 100), (2, 516)):
        monkeypatch.setitem(GRAPHS, "uneven", (shape, ['"relax.softmax"(%x) {axis = 1}'], shape, lambda x, b: softmax(x, 1), 1))
        *given, expected = arguments("uneven")
        np.testing.assert_allclose(emulated(graph("uneven"))(*given), expected, rtol=1e-5, atol=1e-6)


def test_tiles_of_transposes_are_as_large_as_a_block_needs():
    """Rows of a tile are 62 elements apart, so that the threads of a warp read a column from different banks, two by two at most."""
    for name in ("a transpose in tiles", "a square transpose"):
        text = str(legato.lower(graph(name), "nvvm", last="scheduled"))
        assert re.search(r"workgroup\(%\w+ : memref<(1x)?32x63xf32", text) and text.count("gpu.barrier") == 1
    large = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> m (float[3000, 4000] x) => (float[4000, 3000] y) '
                                    '{y = Transpose(x)}')
    assert "memref<32x63xf32" in str(legato.lower(legato.from_onnx(large), "vulkan", last="scheduled"))
    assert "memref<64x127xf32" in str(legato.lower(legato.from_onnx(large), "nvvm", last="scheduled"))


def test_sums_without_a_schedule_stay_in_registers():
    """The loop of a kernel that no schedule takes stores its sum once, after it."""
    lowered = legato.lower(graph("columns"), "nvvm{schedules=false}", last="outlined")
    for loop in find(lowered.operation, "scf.for"):
        assert not find(loop, "memref.store")


def test_a_schedule_is_text_that_can_be_changed():
    """The script of a kernel replays on the kernel at the stage before, and another one takes its place."""
    report = legato.explain(graph("rows of any length"), "nvvm").kernels
    assert [kernel.schedule for kernel in report] == ["register_rows"]
    module = legato.lower(graph("rows of any length"), "nvvm", last="fused")
    text = str(legato.lower(graph("rows of any length"), "nvvm", last="schedules"))
    script = "module attributes {transform.with_named_sequence} {\n" + text[text.index("  transform.named_sequence"):]
    changed = script.replace("-1, 128", "-1, 64")
    assert changed != script
    own = legato.attach_schedule(module, "kernel_softmax", changed)
    lowered = legato.lower(own, "nvvm", from_stage="fused", last="outlined")
    assert "array<i32: 64, 1, 1>" in str(lowered) and len(find(lowered.operation, "gpu.launch_func")) == 1


@pytest.mark.parametrize("others, schedule, launches", [((), "", 6), ((nests.separate,), "separate", 4)])
def test_a_kernel_that_refuses_a_schedule_gets_the_next(others, schedule, launches, caplog, monkeypatch):
    """A script that cannot be applied is left out, and the explanation says why; without another, the kernel computes as without any."""
    def refused(kernel, machine):
        return (nests.schedule(kernel, machine) or "").replace('"map"', '"nothing"').replace('"reduce"', '"nothing"')

    monkeypatch.setattr("legato.targets.gpu.schedules.schedulers", lambda: (refused, *others))
    with caplog.at_level(logging.WARNING, "legato"):
        lowered = legato.lower(graph("rows of any length"), "nvvm", last="outlined")
    assert len(find(lowered.operation, "gpu.launch_func")) == launches
    assert ("the default schedules of @kernel_softmax are left out" in caplog.text) == (not schedule)
    explained = legato.explain(graph("rows of any length"), "nvvm")
    assert explained.kernels[0].schedule == schedule and "      refused: rows: there is no block 'nothing'" in str(explained)
    assert len([op for op in find(lowered.operation, "gpu.func") if find(op, "gpu.shuffle")]) == (2 if schedule else 0)
