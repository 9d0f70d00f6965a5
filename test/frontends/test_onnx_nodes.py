"""ONNX's own tests of single nodes: each imports and computes what it should, or is refused as unsupported.

onnx_node_passes.txt lists those that pass, and how: with all inputs given at run time (``plain``), with all but the first as constants of
the model (``first``), or with all of them (``none``): shapes, axes and their like stand in the tests as inputs. Run as a script in this
folder (with PYTHONPATH=..), this file writes the list anew, and prints how many there are.
"""
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnx.backend.test.loader
import pytest
from interpret import interpret
from onnx import numpy_helper
from onnx_check import imported, symbols_for

import legato
from legato import LegatoError, UnsupportedError

LIST = Path(__file__).parent / "onnx_node_passes.txt"
MODES = {"plain": lambda names: names, "first": lambda names: names[:1], "none": lambda names: []}
ROUNDED = {"bfloat16": 1.6e-2, "float16": 2e-3}  # results of a few roundings
# what is expected of these has the errors of an FFT in f32 (1.9e-7 where the sum is 0), which their absolute tolerance is less than
ABSOLUTE = {"test_dft_inverse": 1e-6, "test_dft_inverse_opset19": 1e-6}


def load() -> dict[str, tuple]:
    """Name to (test, inputs, outputs), for the tests whose inputs and outputs are tensors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = onnx.backend.test.loader.load_model_tests(kind="node")
    cases = {}
    for test in tests:
        inputs, outputs = ([_array(value) for value in values] for values in (test.data_sets or [])[0])
        if all(isinstance(array, np.ndarray) for array in (*inputs, *outputs)):
            cases[test.name] = (test, inputs, outputs)
    return cases


def _array(value):
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, (np.ndarray, np.generic, int, float, bool)) else value


def with_constants(proto: onnx.ModelProto, arrays: dict[str, np.ndarray], kept: list[str]) -> onnx.ModelProto:
    """The model with its inputs as initializers, except those that are kept."""
    result = onnx.ModelProto()
    result.CopyFrom(proto)
    inputs = [value for value in result.graph.input if value.name in kept]
    del result.graph.input[:]
    result.graph.input.extend(inputs)
    result.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in arrays.items() if name not in kept)
    return result


def difference(case, mode: str, symbolic: bool = False) -> str | None:
    """What is wrong with our results; None if nothing is. UnsupportedError if the model is refused."""
    test, inputs, outputs = case
    names = [value.name for value in test.model.graph.input]
    kept = MODES[mode](names)
    arrays = dict(zip(names, inputs))
    proto = test.model if mode == "plain" else with_constants(test.model, arrays, kept)
    given = {name: arrays[name] for name in kept}
    module = imported(proto, shapes=symbols_for(given) if symbolic else None)
    try:
        has_regions = any(op.operation.name.startswith("scf.") for op in module.function().entry_block.operations)
        ours = _compiled(module, given) if has_regions else interpret(module, list(given.values()))
    except LegatoError as error:
        raise UnsupportedError(f"an error of the call: {error}") from error
    for a, b in zip(ours, outputs, strict=True):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return f"{a.dtype}{a.shape} for {b.dtype}{b.shape}"
        tolerance = max(test.rtol, ROUNDED.get(str(b.dtype), 0))
        absolute = ABSOLUTE.get(test.name, test.atol)
        if not np.allclose(a.astype(np.float64), b.astype(np.float64), rtol=tolerance, atol=absolute, equal_nan=True):
            return f"off by {np.abs(a.astype(np.float64) - b.astype(np.float64)).max()}"
    return None


def _compiled(module, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    results = legato.compile(module)(*(np.asarray(array, order="C") for array in given.values()))
    return list(results) if isinstance(results, tuple) else [results]


def first_mode(case, wrong: list[str], symbolic: bool = False) -> str | None:
    """The first mode in which the test is not refused; None if all are. What it computes wrong goes into the list."""
    for mode in MODES:
        try:
            found = difference(case, mode, symbolic)
        except UnsupportedError:
            continue
        if found is not None:
            wrong.append(f"{case[0].name} {mode}: {found}")
        return mode
    return None


@pytest.fixture(scope="module")
def cases():
    return load()


def listed() -> dict[str, str]:
    return dict(line.split() for line in LIST.read_text().splitlines())


def test_nodes(cases):
    wrong: list[str] = []
    found = {name: mode for name, case in cases.items() if (mode := first_mode(case, wrong)) is not None}
    assert not wrong, "\n".join(wrong)
    expected = listed()
    lost = [f"{name} {mode}" for name, mode in expected.items() if found.get(name) != mode]
    assert not lost, f"no longer imported as {LIST.name} says: {lost}"
    new = sorted(found.keys() - expected.keys())
    assert not new, f"passes, but does not stand in {LIST.name} (run this file to write it anew): {new}"


def test_nodes_with_symbols(cases):
    """With a symbol for every size the result is the same, where the node can be imported at all."""
    wrong: list[str] = []
    modes = [first_mode(case, wrong, symbolic=True) for name, case in cases.items() if name in listed()]
    assert not wrong, "\n".join(wrong)
    assert sum(mode is not None for mode in modes) > 0.95 * len(modes)


if __name__ == "__main__":
    wrong: list[str] = []
    loaded = load()
    found = {name: mode for name, case in loaded.items() if (mode := first_mode(case, wrong)) is not None}
    print(*wrong, sep="\n", file=sys.stderr)
    LIST.write_text("".join(f"{name} {mode}\n" for name, mode in sorted(found.items())))
    print(f"{len(found)} of {len(loaded)} tests with tensors only pass")
