"""Reductions of columns, of which a thread has some of halves that are neighbours in memory: results against numpy, loads of 8 bytes."""
import re

import numpy as np
import pytest
from lowering import Lowering
from standin import TARGET, compiled

import legato
from legato.core.ir_helpers import find
from legato.driver import ptx
from legato.targets.catalog import Catalog
from legato.targets.gpu import nests

NAMES = {np.float32: "f32", np.float16: "f16"}


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


# name: the graph op of %x, its shape, the result's, numpy's form
COLUMNS = {
    "a mean": ('"relax.mean"(%x) {axis = array<i64: 1>}', (3, 20, 64), (3, 64), lambda x: x.mean(1)),
    "a maximum": ('"relax.max"(%x) {axis = array<i64: 1>}', (2, 17, 7, 40), (2, 7, 40), lambda x: x.max(1)),
    "a mean of two axes": ('"relax.mean"(%x) {axis = array<i64: 0, 2>}', (3, 5, 8, 60), (5, 60), lambda x: x.mean((0, 2))),
    "argmax": ('"relax.argmax"(%x) {axis = 1}', (2, 21, 36), (2, 36), lambda x: x.argmax(1)),
    "a softmax": ('"relax.softmax"(%x) {axis = 1}', (2, 24, 140), (2, 24, 140), softmax),
}


def module_of(name, dtype):
    op, shape, result, _ = COLUMNS[name]
    kind = "i64" if name == "argmax" else NAMES[dtype]
    x, out = (f"tensor<{'x'.join([*map(str, sizes), element])}>" for sizes, element in ((shape, NAMES[dtype]), (result, kind)))
    return legato.Module.parse(f'func.func @main(%x: {x} {{relax.name = "x"}}) -> {out} {{\n'
                               f"%0 = {op} : ({x}) -> {out}\nreturn %0 : {out} }}")


@pytest.mark.parametrize("dtype", NAMES, ids=NAMES.values())
@pytest.mark.parametrize("name", COLUMNS)
def test_against_numpy(name, dtype, monkeypatch):
    monkeypatch.setattr(nests, "BUSY", 1)
    _, shape, _, reference = COLUMNS[name]
    module, x = module_of(name, dtype), np.random.default_rng(0).standard_normal(shape).astype(dtype)
    lowering = Lowering(module, TARGET)
    outlined = lowering.at("outlined")
    assert [kernel.schedule for kernel in lowering.explained.kernels] == ["points"]
    text = ptx(legato.lower(legato.Module.parse(str(module)), "nvvm"), Catalog().resolve("nvvm"))
    loads = re.findall(r"ld\.global(?:\.v(\d))?\.b(\d+)", text)
    widest = 32 if name == "argmax" or dtype == np.float32 else 64      # a store of 16 bytes has two indices
    assert {int(count or 1) * int(bits) for count, bits in loads} == {widest} and ".local" not in text
    expected = reference(x.astype(np.float64))
    np.testing.assert_allclose(compiled(outlined)(x), expected, rtol=1e-5 if dtype == np.float32 else 3e-3, atol=1e-6)


def test_few_columns_have_a_thread_each():
    text = ptx(legato.lower(module_of("a softmax", np.float16), "nvvm"), Catalog().resolve("nvvm"))
    assert {bits for bits in re.findall(r"ld\.global\S*\.b(\d+)", text)} == {"16"}


@pytest.mark.parametrize("shape", [(9, 100_003), (3, 9, 50_001)])
def test_columns_that_do_not_fill_blocks_are_summed_in_registers(shape):
    """A thread beyond the last column does nothing; that is asked once, and not in each step."""
    axis = len(shape) - 2
    x, out = (f"tensor<{'x'.join(map(str, sizes))}xf32>" for sizes in (shape, shape[:axis] + shape[axis + 1:]))
    module = legato.Module.parse(f'func.func @main(%x: {x}) -> {out} {{\n'
                                 f'%0 = "relax.sum"(%x) {{axis = array<i64: {axis}>}} : ({x}) -> {out}\nreturn %0 : {out} }}')
    lowered = legato.lower(module, "nvvm", last="outlined")
    loops = find(lowered.operation, "scf.for")
    assert loops and not any(find(loop, "memref.store") for loop in loops)
    given = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    np.testing.assert_allclose(compiled(lowered)(given), given.sum(axis), rtol=1e-5, atol=1e-5)


def mean_of(rows, columns, dtype):
    x, out = f"tensor<1x{rows}x{columns}x{NAMES[dtype]}>", f"tensor<1x{columns}x{NAMES[dtype]}>"
    return legato.Module.parse(f'func.func @main(%x: {x}) -> {out} {{\n'
                               f'%0 = "relax.mean"(%x) {{axis = array<i64: 1>}} : ({x}) -> {out}\nreturn %0 : {out} }}')


# rows, columns, type: threads of a block along columns and rows, and steps of each
FEW = {"784 x 72": (784, 72, np.float32, 8, 112, 7), "halves": (196, 240, np.float16, 16, 49, 4), "a prime": (67, 40, np.float32, 8, 32, 3),
       "many": (49, 5000, np.float32, 32, 16, 4)}


@pytest.mark.parametrize("name", FEW)
def test_few_columns_are_in_narrow_blocks(name):
    """Threads beside each other read sectors of 32 bytes; as many share a column as divide it, without conditions on loads; and what they
    combine lies in shared memory as they do, so that those of a warp meet in no bank."""
    rows, columns, dtype, across, down, steps = FEW[name]
    lowered = legato.lower(mean_of(rows, columns, dtype), "nvvm", last="outlined")
    assert f"memref<{down}x{across}xf32, #gpu.address_space<workgroup>>" in str(lowered)
    text = ptx(legato.lower(mean_of(rows, columns, dtype), "nvvm"), Catalog().resolve("nvvm"))
    assert f".maxntid {across}, {down}, 1" in text
    loads = [line for line in text.splitlines() if "ld.global" in line]
    assert rows % down or (len(loads) == steps and text.count("@%p", 0, text.rindex("ld.global")) <= (columns % across > 0))
    given = np.random.default_rng(0).standard_normal((1, rows, columns)).astype(dtype)
    np.testing.assert_allclose(compiled(lowered)(given), given.astype(np.float64).mean(1), rtol=3e-3, atol=1e-3)
