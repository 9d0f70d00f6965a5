"""Fourier transforms of all lengths against numpy in f64: by matrices, by factors, and of lengths with large primes by chirps."""
import numpy as np
import pytest
from onnx import ModelProto, helper, numpy_helper
from thoroughly import first_of

import legato
from legato.frontends.onnx.ops import fourier

# short ones, products of factors, a prime above the greatest factor, two that take chirps, of which one is too long for a matrix
LENGTHS = (1, 3, 128, 210, 257, 1000, 2062, 4096, 16411)
RNG = np.random.default_rng(3)


class Graph:
    """A model of many transforms, and what numpy makes of them."""

    def __init__(self) -> None:
        self.nodes, self.inputs, self.constants, self.arrays, self.expected = [], [], [], [], []

    def add(self, op: str, x: np.ndarray, *others, expected: np.ndarray, shape=None, **attributes) -> None:
        """A node of an input, constants (None: not given) and attributes."""
        number, dtype = len(self.nodes), helper.np_dtype_to_tensor_dtype(x.dtype)
        names = [f"x{number}"]
        for place, value in enumerate(others):
            names.append("" if value is None else f"c{number}_{place}")
            if value is not None:
                self.constants.append(numpy_helper.from_array(np.asarray(value), names[-1]))
        self.nodes.append(helper.make_node(op, names, [f"y{number}"], **attributes))
        self.inputs.append(helper.make_tensor_value_info(names[0], dtype, x.shape if shape is None else shape))
        self.arrays.append(x)
        self.expected.append(expected)

    def model(self) -> ModelProto:
        outputs = [helper.make_tensor_value_info(node.output[0], helper.np_dtype_to_tensor_dtype(x.dtype), None)
                   for node, x in zip(self.nodes, self.arrays)]
        graph = helper.make_graph(self.nodes, "g", self.inputs, outputs, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)

    def results(self, target: str = "llvm") -> list[np.ndarray]:
        found = legato.compile(legato.from_onnx(self.model()), target)(*self.arrays)
        return [np.from_dlpack(one) for one in (found if len(self.nodes) > 1 else [found])]

    def check(self, target: str = "llvm") -> None:
        for node, found, expected in zip(self.nodes, self.results(target), self.expected, strict=True):
            assert found.shape == expected.shape, node
            allowed = 1e-13 if found.dtype == np.float64 else np.finfo(found.dtype).eps     # one rounding of the result
            np.testing.assert_allclose(found, expected, rtol=allowed, atol=2 * allowed * np.abs(expected).max(initial=0), err_msg=str(node))


def numbers(*shape: int, dtype=np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


def complex_of(x: np.ndarray) -> np.ndarray:
    return x[..., 0].astype(np.float64) + (1j * x[..., 1] if x.shape[-1] == 2 else 0)


def parts_of(z: np.ndarray) -> np.ndarray:
    return np.stack([z.real, z.imag], -1)


@pytest.mark.parametrize("lengths", first_of([LENGTHS[::2], LENGTHS[1::2]]))
def test_lengths(lengths):
    """Of real and complex numbers, whole and one-sided, there and back."""
    graph = Graph()
    for length in lengths:
        real, both, half = numbers(2, length, 1), numbers(2, length, 2), numbers(2, length // 2 + 1, 2)
        graph.add("DFT", real, None, np.int64(1), expected=parts_of(np.fft.fft(complex_of(real), axis=1)))
        graph.add("DFT", real, None, np.int64(1), onesided=1, expected=parts_of(np.fft.rfft(complex_of(real).real, axis=1)))
        graph.add("DFT", both, None, np.int64(1), expected=parts_of(np.fft.fft(complex_of(both), axis=1)))
        graph.add("DFT", both, None, np.int64(1), inverse=1, expected=parts_of(np.fft.ifft(complex_of(both), axis=1)))
        graph.add("DFT", half, np.int64(length), np.int64(1), inverse=1, onesided=1,
                  expected=np.fft.irfft(complex_of(half), length, axis=1)[..., None])
    graph.check("llvm{threads=2}")


@pytest.mark.parametrize("dtype", [np.float64, np.float16])
def test_other_types_and_axes(dtype):
    graph = Graph()
    x = numbers(3, 360, 2, 2, dtype=dtype)
    for axis, length in ((1, 360), (1, 512), (1, 300), (-3, 1031), (2, 2), (0, 700)):
        expected = np.fft.fft(complex_of(x), length, axis=axis - 3 if axis >= 0 else axis + 1)
        graph.add("DFT", x, np.int64(length), np.int64(axis), expected=parts_of(expected))
    graph.check()


def test_sizes_of_calls():
    """Other axes may have any size, also none."""
    for size in (1, 5, 0):
        graph, x = Graph(), numbers(size, 2, 1200, 1)
        graph.add("DFT", x, None, np.int64(2), shape=["n", 2, 1200, 1], expected=parts_of(np.fft.fft(complex_of(x), axis=2)))
        graph.check()


def test_windows():
    """STFT of long frames, weighted by a window."""
    graph, length, step = Graph(), 1024, 300
    for parts, onesided in ((1, 1), (1, 0), (2, 0)):
        x, window = numbers(2, 3000, parts), np.hanning(length).astype(np.float32)
        frames = np.stack([complex_of(x)[:, start: start + length] for start in range(0, 3000 - length + 1, step)], 1) * window
        made = np.fft.fft(frames)[..., :length // 2 + 1 if onesided else length]
        graph.add("STFT", x, np.int64(step), window, np.int64(length), onesided=onesided, expected=parts_of(made))
    graph.add("STFT", x, np.int64(step), window, onesided=0, shape=["n", "t", 2], expected=parts_of(made))
    assert str(legato.from_onnx(graph.model())).count("relax.cos") == 0     # tables of known lengths, of signals of any
    graph.check()
    graph.arrays[-1] = x[:, :length - 1].copy()
    with pytest.raises(ValueError, match="y3_frames"):
        graph.results()


def test_special_values():
    """An infinity or NaN reaches the transform of its row, and no other."""
    x = numbers(4, 1024, 1)
    x[1, 7], x[2, 1000] = np.inf, np.nan
    graph = Graph()
    graph.add("DFT", x, None, np.int64(1), expected=x)
    found, = graph.results()
    assert np.isfinite(found[[0, 3]]).all() and not np.isfinite(found[[1, 2]]).any(axis=-1).all()


def test_ways():
    """Each way is taken for some length: matrices for short ones, factors, chirps."""
    assert all(fourier._dense_cost(length, 2, length) < fourier._cost(length) for length in LENGTHS if length <= 100)
    assert fourier._factor(16411) is None and fourier._factor(4096) in (16, 64) and fourier._factor(2062) == 2


def test_too_long():
    graph = Graph()
    graph.add("DFT", np.zeros((1, 1 << 24, 1), np.float32), None, np.int64(1), expected=np.zeros(0))
    with pytest.raises(legato.LegatoError, match="a transform of 16777216 values would take too large tables"):
        graph.results()
