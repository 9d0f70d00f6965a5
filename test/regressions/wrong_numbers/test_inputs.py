"""Arrays whose memory is not their values: lazily negated, masked, byte-swapped, strided, read-only, unaligned, of subclasses."""
import array
import warnings

import numpy as np
import pytest
from onnx import helper
from onnx_check import model, value

import legato

DATA = np.arange(12, dtype=np.float32).reshape(3, 4)


def doubled(shape):
    proto = model([helper.make_node("Add", ["x", "x"], ["y"])], [value("x", np.zeros(0, np.float32), shape)], ["y"])
    return legato.compile(legato.from_onnx(proto))


@pytest.fixture(scope="module")
def matrix():
    return doubled(["n", "m"])


@pytest.fixture(scope="module")
def scalar():
    return doubled([])


class Subclass(np.ndarray):
    pass


class Tensor:
    """A tensor of another library, which tells of a lazy negation by methods only, as torch's do."""

    def __init__(self, array, negative=False):
        self.array, self.negative = array, negative

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def is_neg(self):
        return self.negative

    def resolve_neg(self):
        return Tensor(-self.array)


def read_only(data):
    data = data.copy()
    data.setflags(write=False)
    return data


def unaligned(data):
    return np.frombuffer(b"x" + data.tobytes(), np.uint8)[1:].view(np.float32).reshape(data.shape)


ARRAYS = {
    "byte-swapped": DATA.astype(">f4"), "read-only": read_only(DATA), "read-only and swapped": read_only(DATA.astype(">f4")),
    "zero strides": np.broadcast_to(np.ones((1, 4), np.float32), (3, 4)), "negative strides": DATA[::-1, ::-1], "transposed": DATA.T,
    "every second": DATA[:, ::2], "no rows": np.zeros((0, 4), np.float32), "no columns, backwards": np.zeros((3, 0), np.float32)[::-1],
    "unaligned": unaligned(DATA), "subclass": DATA.view(Subclass), "records": DATA.view(np.recarray),
    "field": np.ones((3, 2), [("a", "f4"), ("b", "f4")])["b"], "unmasked": np.ma.masked_array(DATA),
    "mask of False": np.ma.masked_array(DATA, DATA < 0), "unmasked and strided": np.ma.masked_array(DATA)[:, ::2],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays(matrix, name):
    data = ARRAYS[name]
    found = matrix(data)
    assert type(found) is np.ndarray and found.dtype == np.float32
    np.testing.assert_array_equal(found, np.asarray(data).astype(np.float32) * 2)


def test_matrices(matrix):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        found = matrix(np.matrix(DATA))
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, DATA * 2)


def test_scalars(scalar):
    for one in (np.float32(3), np.array(3, np.float32), np.array(3, ">f4"), np.ma.array(3, dtype=np.float32)):
        found = scalar(one)
        assert (found.shape, found) == ((), 6)


def test_masked_elements(matrix, scalar):
    with pytest.raises(ValueError, match=r"argument 0 'x' is an array with masked elements.*filled"):
        matrix(np.ma.masked_array(DATA, DATA > 5))
    with pytest.raises(ValueError, match="masked elements"):
        matrix(x=np.ma.masked_array(DATA, DATA > 5))
    with pytest.raises(ValueError, match="masked elements"):
        scalar(np.ma.masked)
    np.testing.assert_array_equal(matrix(np.ma.masked_array(DATA, DATA > 5).filled(0)), np.where(DATA > 5, 0, DATA * 2))


def test_lazy_negation(matrix):
    np.testing.assert_array_equal(matrix(Tensor(DATA)), DATA * 2)
    np.testing.assert_array_equal(matrix(Tensor(DATA, negative=True)), DATA * -2)
    with pytest.raises(ValueError, match="not contiguous"):
        matrix(Tensor(DATA.T))


def test_torch(matrix):
    torch = pytest.importorskip("torch")
    data = torch.from_numpy(DATA.copy())
    for given in (data, torch._neg_view(data), torch.complex(data, data).conj().imag.contiguous()):
        np.testing.assert_array_equal(matrix(given).numpy(), given.resolve_neg().numpy() * 2)


@pytest.mark.parametrize("given, expected", [
    (np.array([[1, None]]), "an array of dtype object"), (np.array([["a"]]), "an array of dtype <U1"),
    (np.zeros((1, 1), "datetime64[s]"), "an array of dtype datetime64"), (np.zeros((1, 1), [("a", "f4")]), "an array of dtype"),
    (np.zeros((1, 1), "V4"), "an array of dtype .V4"), (np.zeros((1, 1), np.longdouble), "an array of dtype float128"),
    (np.zeros((1, 1)), "float64"),
    (np.zeros((1, 1), complex), "element type differs"), (array.array("f", [1]), "a value of type array"), (3.0, "a float"), (None, "None"),
])
def test_other_values(matrix, given, expected):
    with pytest.raises(TypeError, match=rf"main: argument 0 'x' must be float32\[n, m\], but .*{expected}"):
        matrix(given)
