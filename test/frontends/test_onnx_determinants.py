"""Det, compiled, beside numpy: sizes that are known and that only a call knows, singular and empty matrices, pivots in every place."""
import re

import numpy as np
import pytest
from onnx import helper
from onnx_check import value

import legato

RNG = np.random.default_rng(3)
SIZES = (0, 1, 2, 3, 4, 5, 8, 33)


def imported(shape, dtype=np.float32):
    graph = helper.make_graph([helper.make_node("Det", ["x"], ["y"], "area")], "g", [value("x", np.empty(0, dtype), shape)],
                              [helper.make_empty_tensor_value_info("y")])
    return legato.from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10))


def compiled(shape, dtype=np.float32):
    return legato.compile(imported(shape, dtype))


def matrices(size, dtype=np.float32):
    """Random ones, ones with zeros where pivots begin, singular ones, and exchanged rows."""
    random = RNG.standard_normal((3, size, size))
    random[1] *= RNG.random((size, size)) < 0.4
    random[2, -1:] = random[2, :1]
    exchanged = np.eye(size)[RNG.permutation(size)]
    return np.concatenate([random, exchanged[None], np.zeros((1, size, size))]).astype(dtype)


def assert_determinants(exe, x, rtol):
    found, wanted = exe(x), np.linalg.det(x.astype(np.float64))
    assert (found.shape, found.dtype) == (x.shape[:-2], x.dtype)
    scale = np.prod(np.linalg.norm(x.astype(np.float64), axis=-1), axis=-1)     # Hadamard's bound
    assert (np.abs(found.astype(np.float64) - wanted) <= rtol * np.maximum(scale, 1e-30)).all()


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float32, 1e-5), (np.float64, 1e-13)])
def test_determinants_of_matrices_of_any_size(dtype, rtol):
    exe = compiled(["batch", "n", "n"], dtype)
    for size in SIZES:
        assert_determinants(exe, matrices(size, dtype), rtol)
        assert exe(np.empty((0, size, size), dtype)).shape == (0,)


@pytest.mark.parametrize("size", SIZES)
def test_determinants_of_matrices_of_known_size(size):
    exe = compiled(["batch", size, size])
    assert_determinants(exe, matrices(size), 1e-5)
    assert exe(np.empty((0, size, size), np.float32)).shape == (0,)


@pytest.mark.parametrize("size", [70, 130])
def test_many_columns_are_cleared_in_blocks(size):
    """Those behind a block by one product."""
    module = imported(["batch", size, size], np.float64)
    assert str(module).count("relax.matmul") == (3 if size < 128 else 7)
    exe = legato.compile(module)
    assert_determinants(exe, matrices(size, np.float64), 1e-13)
    assert exe(np.empty((0, size, size))).shape == (0,)


def test_a_step_writes_what_is_left_of_the_matrices_where_it_is():
    """Columns that are cleared are left out after a quarter of the steps each; two steps read and write two buffers in turns, so that
    matrices are copied for the last of an odd number alone, if only the call knows it."""
    for shape, columns, copies in ((["b", 33, 33], (33, 24, 15, 6), 0), (["b", "n", "n"], ("?",), 1)):
        lowered = str(legato.lower(imported(shape), "llvm", last="bufferized"))
        main = lowered[lowered.index("func.func @main("): lowered.index("func.func @main_sizes(")]
        for number in columns:
            assert f"memref<{number}x?x{shape[-1] if number != '?' else number}xf32>" in main
        assert len(re.findall(r"memref.copy .*: memref<[0-9?]+x\?x[0-9?]+xf32> to", main)) == copies


def test_a_determinant_of_half_precision():
    for size in (3, 7):
        assert_determinants(compiled(["n", "n"], np.float16), matrices(size, np.float16)[0], 2e-2)


def test_batches_of_several_dimensions():
    exe = compiled(["a", 2, "n", "n"])
    assert_determinants(exe, RNG.standard_normal((3, 2, 6, 6)).astype(np.float32), 1e-5)


def test_numbers_that_are_none_go_into_the_determinant():
    x = matrices(6)
    x[0, 3, 3], x[1, 0, 0] = np.nan, np.inf
    found = compiled(["b", "n", "n"])(x)
    assert np.isnan(found[0]) and not np.isfinite(found[1]) and np.isfinite(found[2:]).all()


def test_matrices_that_are_not_square_are_an_error_of_the_call():
    exe = compiled(["n", "m"])
    assert_determinants(exe, matrices(5)[0], 1e-5)
    with pytest.raises(ValueError, match="Det 'area' needs square matrices"):
        exe(np.ones((3, 4), np.float32))
    with pytest.raises(legato.LegatoError, match="must be square matrices"):
        compiled([3, 4])
