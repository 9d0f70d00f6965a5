"""Sizes of 0 and 1 of every op, as static and as symbolic sizes, through compiled code: what onnxruntime computes, or a refusal where it
refuses. Both tables are compared with what is registered."""
import warnings
from typing import Any

import numpy as np
import onnxruntime
import pytest
from degenerate_samples import ELSEWHERE, SAMPLES, SIZES, Sample
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from thoroughly import first_of

import legato
from legato.core.errors import LegatoError
from legato.frontends.onnx.ops import ENTRIES

onnxruntime.set_default_logger_severity(4)
# refused, where onnxruntime computes something: a reason for each
REFUSED = {
    ("Hardmax", "symbolic"): "the depth of a one-hot result is a number",
    ("EyeLike", "symbolic"): "diagonals of known sizes only",
    ("DeformConv", "symbolic"): "images of known sizes only",
    ("RoiAlign", "symbolic"): "images of known sizes only",
    ("ConvTranspose", "symbolic"): "an axis that is dilated has an element",
    ("ArgMax", "static"): "numpy, too, refuses an empty axis where there is no place to store an index", ("ArgMin", "static"): "as ArgMax",
}
# by onnx's reference: onnxruntime leaves its output unwritten (products of nothing), takes 0 for the mean of nothing, ends the process, or
# takes the root of a variance that is rounded below 0
REFERENCE = {"MatMulInteger", "QLinearMatMul", "ReduceMean", "LSTM", "GRU", "RNN", "MeanVarianceNormalization"}
# products that no reference has, and whose sums of nothing onnxruntime leaves unwritten, too: they are 0
UNWRITTEN = {"QGemm", "MatMulIntegerToFloat", "DynamicQuantizeMatMul"}
# no reference has these, and onnxruntime ends the process where there is no sequence: the shapes of their results, which have no element
ENDED = {"DynamicQuantizeLSTM": [(4, 1, 0, 3), (1, 0, 3)]}


def parsed(text: str) -> tuple[list[str], str, int]:
    """The sizes, dtype and bound of an input's text."""
    shape, _, kind = text.partition(":")
    dtype, _, bound = kind.partition("<")
    return shape.split(), dtype or "float32", int(bound or 2)


def shapes(sample: Sample, sizes: dict) -> list[list]:
    return [[sizes.get(s, s) if s in SIZES else int(s) for s in parsed(one)[0]] for one in sample.inputs if isinstance(one, str)]


def model(sample: Sample, sizes: dict):
    """The model, with a letter's size where ``sizes`` has it, and a symbol elsewhere."""
    names, given, constants = [], [], []
    free = iter(shapes(sample, sizes))
    for number, one in enumerate(sample.inputs):
        names.append(f"x{number}")
        if isinstance(one, str):
            kind = helper.np_dtype_to_tensor_dtype(np.dtype(parsed(one)[1]))
            given.append(helper.make_tensor_value_info(names[-1], kind, next(free)))
        elif one.size == 0 and sample.op in ("Resize", "DynamicQuantizeLSTM"):
            names[-1] = ""
        else:
            constants.append(numpy_helper.from_array(one, names[-1]))
    outputs = [f"y{number}" for number in range(sample.outputs)]
    node = helper.make_node(sample.op, names, outputs, domain=sample.domain, **sample.attributes)
    graph = helper.make_graph([node], "g", given, [helper.make_empty_tensor_value_info(name) for name in outputs], constants)
    opsets = [helper.make_opsetid("", sample.opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def arrays(sample: Sample, sizes: dict) -> list[np.ndarray]:
    rng, made = np.random.default_rng(1), []
    for shape, one in zip(shapes(sample, sizes), [one for one in sample.inputs if isinstance(one, str)], strict=True):
        _, dtype, bound = parsed(one)
        made.append(rng.standard_normal(shape).astype(dtype) if dtype == "float32" else rng.integers(0, bound, shape).astype(dtype))
    return made


def expected(proto, given: list[np.ndarray]) -> list[np.ndarray] | None:
    """What onnxruntime computes; None where it refuses."""
    names, op = [value.name for value in proto.graph.input], proto.graph.node[0].op_type
    if op in ENDED and given[0].size == 0:
        return [np.zeros(shape, np.float32) for shape in ENDED[op]]
    try:
        if op in REFERENCE:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                return [np.asarray(a) for a in ReferenceEvaluator(proto).run(None, dict(zip(names, given)))]
        session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        found = [np.asarray(a) for a in session.run(None, dict(zip(names, given)))]
        of_nothing = op in UNWRITTEN and given[0].shape[1] == 0
        return [np.zeros_like(a) for a in found] if of_nothing else found
    except Exception:  # its exceptions have no common class
        return None


def wrong(found, wanted: list[np.ndarray]) -> str | None:
    found = list(found) if isinstance(found, (tuple, list)) else [found]
    for got, want in zip(map(np.asarray, found), wanted, strict=True):
        if (got.dtype, got.shape) != (want.dtype, want.shape):
            return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
        if not np.allclose(got.astype(np.float64), want.astype(np.float64), rtol=2e-5, atol=2e-5, equal_nan=True):
            return f"{got.tolist()}, not {want.tolist()}"[:300]
    return None


def result(call) -> tuple[Any, str]:
    """What a call gives, or the text with which it is refused."""
    try:
        return call(), ""
    except (LegatoError, ValueError) as error:
        return None, str(error)


def failures(sample: Sample, way: str) -> list[str]:
    """What is wrong with one symbolic model at all its sizes, or with the static ones of which each size is 0, or 1."""
    name = f"{sample.op}{[one if isinstance(one, str) else one.shape for one in sample.inputs]}{sample.attributes}"
    letters, found = sample.letters, []
    tables = [{**SIZES, **dict.fromkeys(letters, size)} for size in (0, 1)]
    general, refusal = None, ""
    if way == "symbolic":
        tables += [{**SIZES, letter: size} for letter in letters for size in (0, 1) if len(letters) > 1]
        general, refusal = result(lambda: legato.compile(legato.from_onnx(model(sample, {}))))
    for table in tables:
        given, static = arrays(sample, table), model(sample, table)
        wanted = expected(static, given)
        if way == "static":
            got, why = result(lambda: legato.compile(legato.from_onnx(static))(*given))  # noqa: B023 - called here
        else:
            got, why = result(lambda: general(*given)) if general is not None else (None, refusal)  # noqa: B023 - called here
        where = f"{name} {({letter: table[letter] for letter in letters if table[letter] < 2})} {way}"
        if why and (wanted is None or (sample.op, way) in REFUSED):
            assert "internal error" not in why and "left IR" not in why, f"{where}: {why}"
        elif why:
            found.append(f"{where}: {why}")
        elif wanted is not None and (text := wrong(got, wanted)):
            found.append(f"{where}: {text}")
    return found


def test_every_op_has_a_sample():
    known = {(sample.domain, sample.op) for sample in SAMPLES} | {tuple(op.rpartition(".")[::2]) for op in ELSEWHERE}
    assert set(ENTRIES) == known


@pytest.mark.parametrize("way", first_of(["symbolic", "static"]))
@pytest.mark.parametrize("part", first_of(range(4)))
def test_sizes_of_0_and_1(part, way):
    found = [text for sample in SAMPLES[part::4] for text in failures(sample, way)]
    assert not found, "\n".join(found)
