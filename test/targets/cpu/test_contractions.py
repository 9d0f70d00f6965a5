"""Contractions and convolutions, scheduled and run on AVX-512 and AVX2 code, against numpy. All cases of a test are one model."""
import numpy as np
import pytest

import legato
from legato.core import cpu
from legato.core.mlir import func, ir
from legato.dialects import Module, make_context, relax
from legato.dialects.relax import dims
from legato.targets.cpu.machine import LEVELS

CPUS = [level for level in LEVELS[1:] if not cpu.missing_features(level, "")]
RNG = np.random.default_rng(7)


def numbers(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


class Net:
    """A model with many inputs and outputs: ``build(function of its values)`` per case."""

    def __init__(self) -> None:
        self.inputs: list[tuple[np.ndarray, tuple]] = []
        self.cases: list[tuple[str, list[int], object, np.ndarray]] = []

    def case(self, name: str, arrays: list, build, expected: np.ndarray, shapes: list | None = None) -> None:
        """``build(*values)`` makes the output of inputs that hold ``arrays``; ``shapes`` names their dynamic sizes."""
        shapes = shapes or [a.shape for a in arrays]
        places = range(len(self.inputs), len(self.inputs) + len(arrays))
        self.inputs += zip(arrays, shapes)
        self.cases.append((name, list(places), build, expected))

    def check(self, target: str, tolerance: float = 1e-5) -> None:
        context = make_context()
        with context, ir.Location.unknown():
            module = Module(ir.Module.create())
            types = [dims.tensor_type(shape, ir.F32Type.get()) for _, shape in self.inputs]
            with ir.InsertionPoint(module.body):
                main = func.FuncOp("main", ir.FunctionType.get(types, []))
            block = main.add_entry_block()
            with ir.InsertionPoint(block):
                outputs = [build(module.weights, *[block.arguments[i] for i in places]) for _, places, build, _ in self.cases]
                func.ReturnOp(outputs)
            main.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, [v.type for v in outputs]))
            names = [ir.DictAttr.get({"relax.name": ir.StringAttr.get(f"x{i}")}) for i in range(len(types))]
            main.attributes["arg_attrs"] = ir.ArrayAttr.get(names)
            results = [ir.DictAttr.get({"relax.name": ir.StringAttr.get(f"y{i}")}) for i in range(len(outputs))]
            main.attributes["res_attrs"] = ir.ArrayAttr.get(results)
        found = legato.compile(module, target)(*[array for array, _ in self.inputs])
        found = [found] if len(self.cases) == 1 else found
        for (name, _, _, expected), value in zip(self.cases, found, strict=True):
            value = np.asarray(value)
            assert value.shape == expected.shape, name
            error = np.abs(value - expected).max() / max(np.abs(expected).max(), 1e-6)
            assert error < tolerance, f"{name}: {error:.1e}"


def weight(store, array: np.ndarray) -> ir.Value:
    return relax.weight(store.add("w", array), array.dtype, list(array.shape))


def matmul_case(net: Net, rows: int, columns: int, depth: int, *, epilogue: str = "bias relu", constant: bool = True,
                name_of_rows: str = "") -> None:
    x, w, b, r = numbers(rows, depth), numbers(depth, columns), numbers(columns), numbers(rows, columns)
    expected = x.astype(np.float64) @ w

    def build(store, x_value, *others):
        others = list(others)
        y = relax.matmul(x_value, weight(store, w) if constant else others.pop(0))
        y = relax.add(y, weight(store, b)) if "bias" in epilogue else y
        y = relax.add(y, others.pop(0)) if "residual" in epilogue else y
        return relax.relu(y) if "relu" in epilogue else y

    expected = expected + b if "bias" in epilogue else expected
    expected = expected + r if "residual" in epilogue else expected
    expected = np.maximum(expected, 0) if "relu" in epilogue else expected
    size = name_of_rows or rows
    arrays, shapes = [x], [(size, depth)]
    if not constant:
        arrays, shapes = [*arrays, w], [*shapes, w.shape]
    if "residual" in epilogue:
        arrays, shapes = [*arrays, r], [*shapes, (size, columns)]
    net.case(f"matmul {rows}x{columns}x{depth} {epilogue}", arrays, build, expected, shapes)


def convolution(x: np.ndarray, w: np.ndarray, strides, padding, dilations, groups: int = 1) -> np.ndarray:
    """NHWC by HWIO."""
    top, left, bottom, right = padding
    x = np.pad(x.astype(np.float64), ((0, 0), (top, bottom), (left, right), (0, 0)))
    height, width, _, filters = w.shape
    rows = (x.shape[1] - (height - 1) * dilations[0] - 1) // strides[0] + 1
    columns = (x.shape[2] - (width - 1) * dilations[1] - 1) // strides[1] + 1
    y = np.zeros((x.shape[0], rows, columns, filters))
    inputs, outputs = w.shape[2], filters // groups
    for g in range(groups):
        for i in range(height):
            for j in range(width):
                down, right_ = i * dilations[0], j * dilations[1]
                window = x[:, down:down + (rows - 1) * strides[0] + 1:strides[0], right_:right_ + (columns - 1) * strides[1] + 1:strides[1],
                           g * inputs:(g + 1) * inputs]
                y[..., g * outputs:(g + 1) * outputs] += window @ w[i, j, :, g * outputs:(g + 1) * outputs]
    return y


def conv_case(net: Net, image: tuple[int, int, int, int], filters: int, kernel: tuple[int, int], *, strides=(1, 1), padding=(0, 0, 0, 0),
              dilations=(1, 1), groups: int = 1, residual: bool = False, sizes: tuple | None = None) -> None:
    """``sizes``: the image's, with names where they are dynamic."""
    x, w, b = numbers(*image), numbers(*kernel, image[-1] // groups, filters), numbers(filters)
    expected = convolution(x, w, strides, padding, dilations, groups) + b
    r = numbers(*expected.shape)

    def build(store, x_value, *others):
        y = relax.conv2d(x_value, weight(store, w), strides=list(strides), padding=list(padding), dilations=list(dilations), groups=groups,
                         data_layout="NHWC", kernel_layout="HWIO")
        y = relax.add(y, weight(store, b.reshape(1, 1, 1, -1) if groups > 1 else b))
        return relax.relu(relax.add(y, others[0]) if residual else y)

    expected = np.maximum(expected + r if residual else expected, 0)
    name = f"conv {image}->{filters} {kernel} {strides} {padding} {dilations} {groups}"
    net.case(name, [x, r] if residual else [x], build, expected, [sizes] if sizes else None)


@pytest.mark.parametrize("cpu", CPUS)
def test_matmuls(cpu):
    net = Net()
    for shape in ((24, 64, 33), (128, 96, 64), (33, 1000, 16), (5, 10, 64), (1, 1000, 64), (7, 96, 32), (100, 40, 16), (17, 255, 8),
                  (13, 13, 13), (1, 1, 40), (64, 1, 9), (1, 7, 3), (31, 31, 1), (149, 16, 8)):
        matmul_case(net, *shape)
    for epilogue in ("", "relu", "residual", "bias residual relu"):
        matmul_case(net, 24, 64, 32, epilogue=epilogue)
        matmul_case(net, 13, 70, 5, epilogue=epilogue)
    matmul_case(net, 24, 70, 32, constant=False)
    net.check(f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("rows", [1, 7, 31, 64])
def test_dynamic_rows(cpu, rows):
    net = Net()
    matmul_case(net, rows, 64, 32, name_of_rows="n")
    matmul_case(net, rows, 70, 9, name_of_rows="n", epilogue="")
    matmul_case(net, rows, 10, 20, name_of_rows="n", epilogue="bias residual relu")
    net.check(f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
def test_what_is_added_to_dynamic_rows_may_come_first(cpu):
    """``z + (x @ w + b)``, as recurrent layers have it: the sum's first operand is not the product."""
    net, (x, z, w, b) = Net(), (numbers(11, 8), numbers(3, 11, 48), numbers(8, 48), numbers(48))

    def build(store, x, z, b):
        z = relax.squeeze(relax.strided_slice(z, begin=[1], end=[2], axes=[0]), axis=[0])
        return relax.add(z, relax.add(relax.matmul(x, weight(store, w)), b))

    net.case("", [x, z, b], build, z[1] + (x @ w + b), [("n", 8), (3, "n", 48), (48,)])
    net.check(f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("size", [1, 5, 16, 37])
def test_attention_of_dynamic_length(cpu, size):
    net = Net()
    q, k, v = (numbers(2, size, 3, 16) for _ in range(3))
    heads = [np.swapaxes(a, 1, 2).astype(np.float64) for a in (q, k, v)]
    scores = heads[0] @ np.swapaxes(heads[1], 2, 3)
    shape = (2, "s", 3, 16)

    def compare(store, q, k):
        y = relax.matmul(relax.permute_dims(q, [0, 2, 1, 3]), relax.permute_dims(k, [0, 2, 3, 1]))
        return relax.multiply(y, relax.constant(np.float32(0.5)))

    def collect(store, p, v):
        return relax.matmul(p, relax.permute_dims(v, [0, 2, 1, 3]))

    net.case("scores", [q, k], compare, scores * 0.5, [shape, shape])
    net.case("values", [scores.astype(np.float32), v], collect, scores @ heads[2], [(2, 3, "s", "s"), shape])
    net.check(f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
def test_batches(cpu):
    net = Net()
    for left, right in (((3, 8, 16), (3, 16, 40)), ((2, 3, 17, 8), (2, 3, 8, 33)), ((1, 3, 5, 8), (4, 3, 8, 16)), ((4, 1, 16), (16, 64)),
                        ((5, 9, 16), (16, 24))):
        a, b = numbers(*left), numbers(*right)
        net.case(f"{left} {right}", [a, b], lambda store, x, y: relax.matmul(x, y), a.astype(np.float64) @ b)
    vector, matrix = numbers(40), numbers(40, 50)
    net.case("vector matrix", [vector, matrix], lambda store, x, y: relax.matmul(x, y), vector.astype(np.float64) @ matrix)
    turned = matrix.T.copy()
    net.case("matrix vector", [turned, vector], lambda store, x, y: relax.matmul(x, y), turned.astype(np.float64) @ vector)
    net.check(f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
def test_convolutions(cpu):
    net = Net()
    conv_case(net, (1, 14, 14, 16), 32, (3, 3), padding=(1, 1, 1, 1))
    conv_case(net, (1, 14, 14, 16), 64, (1, 1))
    conv_case(net, (1, 15, 15, 16), 40, (1, 1), strides=(2, 2))
    conv_case(net, (1, 19, 19, 3), 32, (7, 7), strides=(2, 2), padding=(3, 3, 3, 3))
    conv_case(net, (1, 27, 27, 3), 24, (11, 11), strides=(4, 4))
    conv_case(net, (2, 13, 9, 8), 16, (5, 5), padding=(2, 2, 2, 2))
    conv_case(net, (1, 17, 17, 8), 10, (3, 3), dilations=(2, 2), padding=(2, 2, 2, 2))
    conv_case(net, (1, 12, 17, 4), 48, (1, 7), padding=(0, 3, 0, 3))
    conv_case(net, (1, 12, 17, 4), 48, (7, 1), strides=(2, 1), padding=(3, 0, 3, 0))
    conv_case(net, (1, 8, 8, 5), 17, (3, 3), padding=(0, 1, 1, 0), strides=(2, 2))
    conv_case(net, (3, 7, 7, 32), 32, (3, 3), padding=(1, 1, 1, 1), residual=True)
    conv_case(net, (1, 7, 55, 8), 125, (1, 1))
    conv_case(net, (1, 3, 3, 8), 16, (3, 3))
    net.check(f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
def test_grouped_convolutions(cpu):
    net = Net()
    conv_case(net, (1, 14, 14, 32), 64, (3, 3), padding=(1, 1, 1, 1), groups=2)
    conv_case(net, (1, 14, 14, 24), 60, (1, 1), groups=3)
    conv_case(net, (1, 9, 9, 68), 68, (1, 1), groups=4)
    conv_case(net, (1, 9, 9, 32), 32, (3, 3), padding=(1, 1, 1, 1), strides=(2, 2), groups=8)
    conv_case(net, (1, 26, 26, 16), 128, (5, 5), padding=(2, 2, 2, 2), groups=2, residual=True)
    net.check(f"llvm{{cpu={cpu}}}")


@pytest.mark.parametrize("cpu", CPUS)
def test_convolutions_of_dynamic_size(cpu):
    net = Net()
    conv_case(net, (3, 14, 14, 16), 32, (3, 3), padding=(1, 1, 1, 1), sizes=("n", 14, 14, 16))
    conv_case(net, (1, 14, 17, 16), 32, (1, 1), sizes=(1, "h", "w", 16))
    conv_case(net, (1, 14, 17, 16), 40, (3, 3), padding=(1, 1, 1, 1), sizes=(1, "i", "j", 16))
    conv_case(net, (1, 15, 17, 3), 32, (3, 3), padding=(1, 1, 1, 1), strides=(2, 2), sizes=(1, "k", "l", 3))
    net.check(f"llvm{{cpu={cpu}}}")


def test_threads():
    net = Net()
    matmul_case(net, 128, 256, 256)
    matmul_case(net, 128, 1000, 64)
    matmul_case(net, 77, 512, 128, name_of_rows="n")
    conv_case(net, (1, 29, 29, 32), 96, (3, 3), padding=(1, 1, 1, 1))
    conv_case(net, (1, 56, 56, 32), 32, (3, 3), padding=(1, 1, 1, 1))
    net.check("llvm{threads=2}")
