"""Rows that threads keep in registers: results against numpy, one load of each element, and no memory of a thread's own."""
import re

import numpy as np
import pytest
from lowering import Lowering
from standin import TARGET, compiled

import legato
from legato.driver import ptx
from legato.targets.catalog import Catalog

NAMES = {np.float32: "f32", np.float16: "f16"}
LIMITS = {np.float32: 1e-5, np.float16: 3e-3}


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def normalized(x, axes):
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axes, keepdims=True) + 1e-5)


def group_norm(x, b):
    rows = normalized(x.reshape(x.shape[0], 2, -1), -1).reshape(x.shape)
    return rows * b[:, None, None] + b[:, None, None]


# name: the graph op of %x and %b, the shapes of both, the result's, numpy's form, loads of 16 bytes of a thread in f16
ROWS = {
    "a softmax": ('"relax.softmax"(%x) {axis = -1}', (3, 1024), (1,), (3, 1024), lambda x, b: softmax(x), 2),
    "an odd softmax": ('"relax.softmax"(%x) {axis = -1}', (5, 203), (1,), (5, 203), lambda x, b: softmax(x), None),
    "a norm": ('"relax.layer_norm"(%x, %b, %b) {axes = array<i64: -1>, epsilon = 1.0e-05}', (9, 768), (768,), (9, 768),
               lambda x, b: normalized(x, -1) * b + b, 9),
    "a sum": ('"relax.sum"(%x) {axis = array<i64: 1>}', (7, 2048), (1,), (7,), lambda x, b: x.sum(1), 2),
    "an average of images": ('"relax.mean"(%x) {axis = array<i64: 2, 3>}', (2, 3, 16, 64), (1,), (2, 3), lambda x, b: x.mean((2, 3)), 2),
    "a norm of groups": ('"relax.group_norm"(%x, %b, %b) {num_groups = 2 : i64, epsilon = 1.0e-05}',
                         (3, 4, 16, 32), (4,), (3, 4, 16, 32), group_norm, 2),
}


def module_of(name, dtype):
    op, shape, second, result, _, _ = ROWS[name]
    x, b, out = (f"tensor<{'x'.join([*map(str, sizes), NAMES[dtype]])}>" for sizes in (shape, second, result))
    types = ", ".join({"%x": x, "%b": b}[value] for value in re.findall(r"%\w", op))
    return legato.Module.parse(f'func.func @main(%x: {x} {{relax.name = "x"}}, %b: {b} {{relax.name = "b"}}) -> {out} {{\n'
                               f"%0 = {op} : ({types}) -> {out}\nreturn %0 : {out} }}")


@pytest.mark.parametrize("dtype", NAMES, ids=NAMES.values())
@pytest.mark.parametrize("name", ROWS)
def test_against_numpy(name, dtype):
    _, shape, second, _, reference, _ = ROWS[name]
    random = np.random.default_rng(0)
    x, b = random.standard_normal(shape).astype(dtype), random.standard_normal(second).astype(dtype)
    module = module_of(name, dtype)
    lowering = Lowering(module, TARGET)
    outlined = lowering.at("outlined")
    assert [kernel.schedule for kernel in lowering.explained.kernels] == ["register_rows"]
    expected = reference(x.astype(np.float64), b.astype(np.float64))
    np.testing.assert_allclose(compiled(outlined)(x, b), expected, rtol=LIMITS[dtype], atol=LIMITS[dtype] * np.abs(expected).max())


@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row[-1]])
def test_each_element_is_loaded_once(name):
    pytest.importorskip("llvmlite")
    text = ptx(legato.lower(module_of(name, np.float16), "nvvm"), Catalog().resolve("nvvm"))
    wide = re.findall(r"ld\.global\.(?:v4\.b32|v2\.b64|v8\.b16)", text)
    assert len(wide) == ROWS[name][-1] and ".local" not in text


def test_an_exponential_is_computed_once():
    pytest.importorskip("llvmlite")
    text = ptx(legato.lower(module_of("a softmax", np.float16), "nvvm"), Catalog().resolve("nvvm"))
    assert text.count("ex2") == 16


@pytest.mark.parametrize("target, length, schedule", [
    ("nvvm", 60_000, "rows"), ("nvvm", 40_000, "register_rows"), ("vulkan", 1024, "rows")])
def test_rows_that_are_too_long_have_loops(target, length, schedule, monkeypatch):
    monkeypatch.setitem(ROWS, "long", ('"relax.softmax"(%x) {axis = -1}', (200, length), (1,), (200, length), None, None))
    assert [kernel.schedule for kernel in legato.explain(module_of("long", np.float32), target).kernels] == [schedule]
