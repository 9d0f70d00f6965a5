"""Copies and elementwise ops on rows that accesses of 16 bytes do not divide, and tiles of transposes of narrow elements: against numpy."""
import re
from dataclasses import replace

import numpy as np
import pytest
from lowering import Lowering
from standin import TARGET, compiled

import legato
from legato.driver import ptx
from legato.targets.catalog import Catalog
from legato.targets.gpu import transposes, uneven_rows

NAMES = {np.float32: "f32", np.float16: "f16", np.int8: "i8"}
SLICE = '"relax.strided_slice"(%%x) {axes = array<i64: 1>, begin = #relax.dims<[%d]>, end = #relax.dims<[%d]>, strides = array<i64: 1>}'
# the graph op of %x and %b, which is one of its rows, the shape of %x, the result's, numpy's form
UNEVEN = {
    "a slice": (SLICE % (101, 5000), (3, 6001), (3, 4899), lambda x, b: x[:, 101:5000]),
    "parts of odd lengths": ('"tensor.concat"(%x, %x) {dim = 1 : i64}', (3, 4099), (3, 8198), lambda x, b: np.concatenate([x, x], 1)),
    "a broadcast": ('"relax.add"(%x, %b)', (5, 3003), (5, 3003), lambda x, b: x + b),
}


def module_of(op, shape, result, dtype):
    x, b, out = (f"tensor<{'x'.join([*map(str, sizes), NAMES[dtype]])}>" for sizes in (shape, shape[-1:], result))
    types = ", ".join({"%x": x, "%b": b}[value] for value in re.findall(r"%\w", op))
    return legato.Module.parse(f'func.func @main(%x: {x} {{relax.name = "x"}}, %b: {b} {{relax.name = "b"}}) -> {out} {{\n'
                               f"%0 = {op} : ({types}) -> {out}\nreturn %0 : {out} }}")


def arrays(shape, dtype):
    random = np.random.default_rng(0)
    return [random.integers(-100, 100, sizes).astype(dtype) for sizes in (shape, shape[-1:])]


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("name", UNEVEN)
def test_rows_of_odd_lengths(name, dtype, monkeypatch):
    monkeypatch.setattr(uneven_rows, "MUCH", 1)
    op, shape, result, reference = UNEVEN[name]
    module = module_of(op, shape, result, dtype)
    lowering = Lowering(module, TARGET)
    outlined = lowering.at("outlined")
    assert [kernel.schedule for kernel in lowering.explained.kernels] == ["uneven_rows"]
    np.testing.assert_array_equal(compiled(outlined)(*arrays(shape, dtype)), reference(*arrays(shape, dtype)))


def test_a_thread_loads_several_elements_before_it_stores_one(monkeypatch):
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(uneven_rows, "MUCH", 1)
    op, shape, result, _ = UNEVEN["a broadcast"]
    text = ptx(legato.lower(module_of(op, shape, result, np.float16), "nvvm"), Catalog().resolve("nvvm"))
    accesses = re.findall(r"(ld|st)\.global", text)
    assert accesses == ["ld"] * 16 + ["st"] * 8 and ".local" not in text


def test_parts_are_moved_16_bytes_at_once():
    """Where the part of a row begins at a multiple of as many elements."""
    pytest.importorskip("llvmlite")
    for begin, bytes_ in ((104, 16), (100, 8), (102, 4)):
        text = ptx(legato.lower(module_of(SLICE % (begin, 264), (8, 264), (8, 264 - begin), np.float16), "nvvm"), Catalog().resolve("nvvm"))
        loads = re.findall(r"ld\.global(?:\.v(\d))?\.b(\d+)", text)
        assert [int(count or 1) * int(bits) // 8 for count, bits in loads] == [bytes_]


@pytest.mark.parametrize("dtype", NAMES)
@pytest.mark.parametrize("shape", [(2, 128, 64), (132, 1, 260), (1, 200, 100)])
def test_large_tiles_of_transposes(shape, dtype, monkeypatch):
    tiles = {size: replace(tile, least=0) for size, tile in transposes.TILES.items()}
    monkeypatch.setattr(transposes, "TILES", tiles)
    axes = (2, 1, 0) if shape[1] == 1 else (0, 2, 1)
    op = f'"relax.permute_dims"(%x) {{axes = array<i64: {", ".join(map(str, axes))}>}}'
    x, b = arrays(shape, dtype)
    found = compiled(module_of(op, shape, tuple(shape[axis] for axis in axes), dtype))(x, b)
    np.testing.assert_array_equal(found, x.transpose(axes))
