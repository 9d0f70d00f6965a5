"""Compiles the exports of an architecture and compares their results with onnxruntime's: a file of results for each."""
import json
import os
import signal
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

import legato

from .ways import SIZES, WAYS, Way

TOLERANCE = 1e-3     # of the largest value; what is further apart is wrong
SMALLEST = 1e-35      # smaller results have lost the digits that are compared: floats of 32 bits are subnormal below 1.2e-38
SLOW = 60.0          # seconds of processor time of an import and compile that the page names
LIMIT = 900          # seconds for one export


@dataclass
class Result:
    """What came of an export. ``state``: ``runs``, ``wrong``, ``refused``, ``failed`` (an error that is no refusal), ``crashed``, or
    ``exporter`` if torch could not export it; ``error``: the largest of max|a-b| / max|b| over all calls and outputs."""

    architecture: str
    way: str
    state: str
    reason: str = ""
    error: float | None = None
    calls: int = 0
    seconds: float = 0.0
    attention: str = ""


def check(folder: Path, results: Path, ways: tuple[Way, ...] = WAYS) -> None:
    """Checks each export in a folder in a process of its own, and writes ``ARCHITECTURE/WAY.json`` under ``results``."""
    for way in ways:
        if not (folder / f"{way}.json").exists():
            continue
        file = results / folder.name / f"{way}.json"
        file.unlink(missing_ok=True)
        child = os.fork()
        if not child:
            signal.alarm(LIMIT)
            try:
                write(_checked(folder, way), results)
            except BaseException:
                traceback.print_exc()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not file.exists():
            number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
            reason = f"takes more than {LIMIT} s" if number == signal.SIGALRM else f"ended by signal {number}"
            write(Result(folder.name, str(way), "crashed", reason), results)


def warm() -> None:
    """Compiles a small model, so that the processes that are forked from this one need not import, nor compile what all models share."""
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 8]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Softmax", ["x"], ["y"])], "warm", [x], [y])
    legato.compile(legato.from_onnx(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])), cache=False)


def write(result: Result, results: Path) -> None:
    """Keeps a result."""
    file = results / result.architecture / f"{result.way}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(json.dumps(asdict(result)))
    os.replace(part, file)


def _checked(folder: Path, way: Way) -> Result:
    exported = json.loads((folder / f"{way}.json").read_text())
    result = Result(folder.name, str(way), "runs", attention=exported["attention"])
    if exported["failed"]:
        result.state, result.reason = "exporter", exported["failed"]
        return result
    path = folder / f"{way}.onnx"
    try:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.log_severity_level = 1, 4
        # node by node: what it makes of BiT's normalizations when it optimizes is 3e-3 from PyTorch's results
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        result.state, result.reason = "exporter", f"onnxruntime does not load the file: {_line(error)}"
        return result
    expected, unable = _reference(session, folder / "arguments.npz", way)
    if not expected:
        result.state, result.reason = "exporter", f"onnxruntime cannot run the file: {unable}"
        return result
    if all(np.abs(np.nan_to_num(b.astype(np.float64))).max(initial=0.0) < SMALLEST for _, wanted in expected.values() for b in wanted):
        result.state, result.reason = "exporter", "its results are 0, or nearly: the random weights are too small to compare anything"
        return result
    started = time.process_time()
    try:
        executable = legato.compile(legato.from_onnx(path), cache=False)
    except legato.LegatoError as error:
        result.state, result.reason = "refused", _line(error)
        return result
    except Exception as error:
        result.state, result.reason = "failed", f"{type(error).__name__}: {_line(error)}"
        return result
    finally:
        result.seconds = time.process_time() - started
    for label, (fed, wanted) in expected.items():
        try:
            ours = executable(**fed)
        except Exception as error:
            result.state, result.reason = "failed", f"{label}: {type(error).__name__}: {_line(error)}"
            return result
        ours = ours if isinstance(ours, tuple) else (ours,)
        result.calls += 1
        for number, (a, b) in enumerate(zip(ours, wanted, strict=True)):
            worst = error_of(np.asarray(a), b)
            result.error = max(result.error or 0.0, worst)
            if not worst < TOLERANCE:
                result.state, result.reason = "wrong", f"{label}: output {number} is {worst:.1e} off"
                return result
    return result


Call = tuple[dict[str, np.ndarray], list[np.ndarray]]   # arguments by name, results


def _reference(session: onnxruntime.InferenceSession, path: Path, way: Way) -> tuple[dict[str, Call], str]:
    """The calls that onnxruntime can run, and why it cannot run the others: exporters fix sizes that were to be free."""
    found: dict[str, Call] = {}
    unable = ""
    for label, given in calls(path, way):
        fed = {value.name: given[value.name] for value in session.get_inputs()}
        try:
            found[label] = fed, session.run(None, fed)
        except Exception as error:
            unable = unable or _line(error)
    return found, unable


def calls(path: Path, way: Way) -> Iterator[tuple[str, dict[str, np.ndarray]]]:
    """The arguments that an export takes, by name."""
    order = list(SIZES)
    with np.load(path) as file:
        for label in dict.fromkeys(name.partition("/")[0] for name in file.files):
            if order.index(label.partition(".")[0]) <= order.index(way.sizes):
                yield label, {name.split("/")[2]: file[name] for name in file.files if name.startswith(f"{label}/in/")}


def error_of(ours: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference relative to the largest value; infinite for another shape, element type, or NaN."""
    if ours.shape != expected.shape or ours.dtype != expected.dtype:
        return float("inf")
    if not ours.size:
        return 0.0
    a, b = ours.astype(np.float64), expected.astype(np.float64)
    if not np.array_equal(np.isnan(a), np.isnan(b)) or not np.array_equal(np.isinf(a), np.isinf(b)):
        return float("inf")
    finite = np.isfinite(b)
    if not finite.any():
        return 0.0
    return float(np.abs(a - b)[finite].max() / max(np.abs(b[finite]).max(), 1e-36))


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:600]
