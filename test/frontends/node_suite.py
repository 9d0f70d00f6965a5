"""ONNX's own tests of single nodes, through compiled code, in processes of their own: a crash or a hang costs one case.

``PYTHONPATH=test python test/frontends/node_suite.py`` runs all cases and prints by reason what does not pass; ``--part 3/24`` runs a
part, ``--write`` writes onnx_node_passes.txt and docs/onnx-nodes.md anew, names as arguments run those. A case passes in a way:
``run-time``: all its inputs are given at run time; ``first``: all but the first are constants of the model; ``none``: all are. Shapes, axes
and their like stand in these tests as inputs. How many tensors a sequence among the inputs has, and that an optional has no value, is said
at import.
"""
from __future__ import annotations

import argparse
import json
import os
import pickle
import re
import select
import signal
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnx.backend.test.loader
from onnx import numpy_helper

STANDIN = str(Path(__file__).parents[1] / "targets" / "gpu")
LIST = Path(__file__).parent / "onnx_node_passes.txt"
PAGE = Path(__file__).parents[2] / "docs" / "onnx-nodes.md"
WAYS = {"run-time": lambda names: names, "first": lambda names: names[:1], "none": lambda names: []}
REFUSED, DRAWN = "refused", "drawn"
# cases that draw random numbers: what is expected of them numpy's generator has drawn, by seeds that some of the nodes do not have
OF_NUMPY = {f"test_{name}" for name in (
    "bernoulli", "bernoulli_double", "bernoulli_double_expanded", "bernoulli_expanded", "bernoulli_seed", "bernoulli_seed_expanded",
    "training_dropout", "training_dropout_default", "training_dropout_default_mask", "training_dropout_mask")}
LISTED = "llvm"     # the target of the list and the page
ROUNDED = {"bfloat16": 1.6e-2, "float16": 2e-3}  # results of a few roundings
# what is expected of these has the errors of an FFT in f32 (1.9e-7 where the sum is 0), which their absolute tolerance is less than
ABSOLUTE = {"test_dft_inverse": 1e-6, "test_dft_inverse_opset19": 1e-6}
PATIENCE = 600  # seconds without a result after which a process hangs


@dataclass(frozen=True)
class Case:
    """A model (bytes), its inputs and outputs (arrays, lists of arrays, None), and the tolerances of the comparison."""

    name: str
    model: bytes
    inputs: list
    outputs: list
    rtol: float
    atol: float


@dataclass(frozen=True)
class Outcome:
    """``way``: that in which the case passes, or "refused", "drawn" (right but for the random numbers), "wrong", "crash". ``reason``: why,
    for all but those that pass as they are."""

    way: str
    reason: str = ""


def load() -> dict[str, Case]:
    """All cases by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tests = onnx.backend.test.loader.load_model_tests(kind="node")
    cases = {}
    for test in tests:
        inputs, outputs = ([_value(value) for value in values] for values in (test.data_sets or [])[0])
        assert test.model is not None
        cases[test.name] = Case(test.name, test.model.SerializeToString(), inputs, outputs, test.rtol, test.atol)
    return cases


def _value(value):
    if isinstance(value, list):
        return [_value(element) for element in value]
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else None if value is None else np.asarray(value)


def with_constants(case: Case, way: str) -> tuple[onnx.ModelProto, dict]:
    """The model with its inputs as initializers, except those that the way keeps, and the values of these."""
    result = onnx.load_from_string(case.model)
    given = dict(zip([value.name for value in result.graph.input], case.inputs))
    kept = set(WAYS[way](list(given)))
    fixed = {name: value for name, value in given.items() if name not in kept and isinstance(value, np.ndarray)}
    inputs = [value for value in result.graph.input if value.name not in fixed]
    del result.graph.input[:]
    result.graph.input.extend(inputs)
    result.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in fixed.items())
    return result, {name: value for name, value in given.items() if name not in fixed}


def difference(case: Case, ours: Sequence) -> str | None:
    """What is wrong with some results; None if nothing is."""
    if len(ours) != len(case.outputs):
        return f"{len(ours)} results for {len(case.outputs)}"
    return next(filter(None, (_difference(case, a, b) for a, b in zip(ours, case.outputs))), None)


def undrawn_difference(case: Case, ours: Sequence) -> str | None:
    """What is wrong with results whose elements are 0 or a number as chance has it: other numbers, types or shapes than those expected."""
    both = [(a != 0) & (b != 0) if a.shape == b.shape else None for a, b in zip(ours, case.outputs)]
    kept = [a if at is None else np.where(at, a, b) for a, b, at in zip(ours, case.outputs, both)]
    return difference(case, [one.astype(a.dtype) for one, a in zip(kept, ours)])


def _difference(case: Case, a, b) -> str | None:
    if b is None:
        return None if a is None else f"{type(a).__name__} for None"
    if isinstance(b, list):
        if not isinstance(a, (list, tuple)) or len(a) != len(b):
            return f"{type(a).__name__} for a list of {len(b)}"
        return next(filter(None, (_difference(case, x, y) for x, y in zip(a, b))), None)
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return f"{a.dtype}{a.shape} for {b.dtype}{b.shape}"
    tolerance, absolute = max(case.rtol, ROUNDED.get(str(b.dtype), 0)), ABSOLUTE.get(case.name, case.atol)
    x, y = a.astype(np.float64), b.astype(np.float64)
    return None if np.allclose(x, y, rtol=tolerance, atol=absolute, equal_nan=True) else f"off by {np.abs(x - y).max()}"


def outcome(case: Case, target: str) -> Outcome:
    """Compiles for a target and calls the case in the first way that is not refused."""
    reason = ""
    for way in WAYS:
        found = _outcome(case, way, target)
        if found.way != REFUSED:
            return Outcome(way, reason) if found.way == way else found
        reason = reason or found.reason
    return Outcome(REFUSED, reason)


def _outcome(case: Case, way: str, target: str) -> Outcome:
    import legato

    proto, given = with_constants(case, way)
    exe = None
    try:
        exe = executable(legato.from_onnx(proto, shapes=lengths(given)), target)
        results = exe(*(np.asarray(v, order="C") if isinstance(v, np.ndarray) else v for v in given.values()))
    except legato.UnsupportedError as error:
        return Outcome(REFUSED, reason_of(error))
    except Exception as error:
        is_refused = exe is not None and isinstance(error, (TypeError, ValueError))
        return Outcome(REFUSED if is_refused else "wrong", f"at the call: {error}" if is_refused else f"{type(error).__name__}: {error}")
    results = results if isinstance(results, tuple) else (results,)
    if case.name in OF_NUMPY:
        problem = undrawn_difference(case, results)
        return Outcome(DRAWN, "its numbers are not those of numpy's generator") if problem is None else Outcome("wrong", problem)
    problem = difference(case, results)
    return Outcome(way) if problem is None else Outcome("wrong", problem)


def executable(module, target: str):
    """The compiled module; for NVIDIA's GPUs with kernels for the stand-in for their driver."""
    import legato

    if not target.startswith("nvvm"):
        return legato.compile(module, target)
    if STANDIN not in sys.path:
        sys.path.insert(0, STANDIN)
    from standin import compiled  # which builds the driver when it is first used
    return compiled(module, target)


def lengths(given: dict) -> dict:
    """What is known at import of sequences and of optionals without a value: the shapes of their tensors."""
    return {name: None if value is None else [list(part.shape) for part in value] for name, value in given.items()
            if value is None or isinstance(value, list)}


def reason_of(error: Exception) -> str:
    """The first problem in a message, without the names of the model and of the node."""
    lines = str(error).splitlines()
    line = lines[min(1, len(lines) - 1)].strip() if lines else type(error).__name__
    return re.sub(r"^[^:]*?\((\w[\w.]*)(, opset \d+)?\): ", r"\1: ", line)


def run(cases: Sequence[Case], target: str = LISTED) -> Iterator[tuple[str, Outcome]]:
    """Runs cases one after the other, compiled for a target, in a process, which is replaced when it dies."""
    pending = list(cases)
    while pending:
        command = [sys.executable, "-W", "ignore", __file__, "--worker", "--target", target]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              env={**os.environ, "LEGATO_CACHE": "off"}) as process:
            done = 0
            for name, found in _results(process, pending):
                done += 1
                yield name, found
            pending = pending[done:]
        if pending:
            died = process.returncode
            why = signal.Signals(-died).name if died < 0 else f"exit code {died}"
            yield pending[0].name, Outcome("crash", why)
            pending = pending[1:]


def _results(process: subprocess.Popen, cases: Sequence[Case]) -> Iterator[tuple[str, Outcome]]:
    """Sends one case after the other to a worker, and gives their outcomes; ends where the worker does, or hangs."""
    assert process.stdin is not None and process.stdout is not None
    try:
        for case in cases:
            pickle.dump(case, process.stdin)
            process.stdin.flush()
            if not select.select([process.stdout], [], [], PATIENCE)[0]:
                process.kill()
                return
            line = process.stdout.readline()
            if not line:
                return
            yield case.name, Outcome(*json.loads(line))
        process.stdin.close()
    except BrokenPipeError:
        return


def work(target: str) -> None:
    """The process that runs cases: pickled cases in, lines of JSON out."""
    while True:
        try:
            case = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        found = outcome(case, target)
        print(json.dumps([found.way, found.reason]), flush=True)


def listed() -> dict[str, Outcome]:
    """The list: what each case is known to be."""
    rows = (line.split(" ", 2) for line in LIST.read_text().splitlines())
    return {name: Outcome(*rest) for name, *rest in rows}


def part(cases: dict[str, Case], number: int, count: int) -> list[Case]:
    """Every ``count``-th case, from ``number`` on."""
    return [case for index, case in enumerate(cases.values()) if index % count == number % count]


def write(cases: dict[str, Case], found: dict[str, Outcome]) -> None:
    """Writes the list and the page, without the cases that are wrong or crash, so that the tests miss them."""
    kept = {name: one for name, one in sorted(found.items()) if one.way in (*WAYS, REFUSED, DRAWN)}
    LIST.write_text("".join(f"{name} {one.way} {one.reason}".rstrip() + "\n" for name, one in kept.items()))
    PAGE.write_text(page(cases, kept))


def op_of(cases: dict[str, Case], name: str) -> str:
    """The op that a case tests; of the expansion of an op's definition that op."""
    model = onnx.load_from_string(cases.get(re.sub(r"_expanded.*$", "", name), cases[name]).model)
    node = model.graph.node[0]
    return f"{node.domain}.{node.op_type}".removeprefix(".").removeprefix("ai.onnx.")


def page(cases: dict[str, Case], found: dict[str, Outcome]) -> str:
    """The page of the documentation: a table by op."""
    ways = Counter(one.way for one in found.values())
    constants = len(found) - ways["run-time"] - ways[REFUSED] - ways[DRAWN]
    lines = [
        "# ONNX's tests of single nodes", "",
        f"The package `onnx` {onnx.__version__} has {len(found)} tests of single nodes. Compiled for CPUs, with all inputs of the node",
        f"given at run time (shapes, axes, sizes and their like among them), {ways['run-time']} compute what they should; {constants} do",
        f"so where such inputs are constants of the model; {ways[REFUSED]} are refused. {ways[DRAWN]} draw random",
        "numbers, which are not those that numpy's generator drew for these tests, nor could they be: most nodes say no seed. Of them",
        "shapes, types, and the elements that are not 0 on both sides are right. How many tensors a given sequence has is said at import.",
        "`make node-suite` runs the tests, and `make node-suite WRITE=--write` writes this page.", "",
        "| op | tests | at run time | as constants | other random numbers | refused |", "| --- | --- | --- | --- | --- | --- |"]
    by_op: dict[str, list[Outcome]] = {}
    for name, one in found.items():
        by_op.setdefault(op_of(cases, name), []).append(one)
    for name, ones in sorted(by_op.items(), key=lambda item: item[0].lower()):
        counts = Counter(one.way for one in ones)
        reasons = "; ".join(dict.fromkeys(shown(one.reason) for one in ones if one.way == REFUSED))
        refused = f"{counts[REFUSED]}: {reasons}" if counts[REFUSED] else ""
        rest = len(ones) - counts["run-time"] - counts[REFUSED] - counts[DRAWN]
        lines.append(f"| `{name}` | {len(ones)} | {counts['run-time'] or ''} | {rest or ''} | {counts[DRAWN] or ''} | {refused} |")
    return "\n".join(lines) + "\n"


def shown(reason: str) -> str:
    """A reason without the names of one model, in a cell of a table."""
    reason = re.sub(r"\[[^\]]*\]", "[...]", re.sub(r"^\w+: ", "", reason)).replace("|", "/")
    return reason if len(reason) < 160 else reason[:157] + "..."


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("names", nargs="*", help="names of cases, or parts of names")
    arguments.add_argument("--part", default="0/1", help="I/N: every N-th case, from the I-th on")
    arguments.add_argument("--write", action="store_true", help="write the list; cases that did not run keep their line")
    arguments.add_argument("--target", default=LISTED, help="the target that is tested; the list is of the default (default: %(default)s)")
    arguments.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.worker:
        work(given.target)
        return 0
    cases = load()
    chosen = [case for case in part(cases, *map(int, given.part.split("/")))
              if not given.names or any(name in case.name for name in given.names)]
    known = listed() if LIST.exists() and given.target == LISTED else {}
    found = {}
    for name, one in run(chosen, given.target):
        found[name] = one
        if one.way not in (*WAYS, REFUSED, DRAWN) or one.way != known.get(name, one).way:
            print(f"{name}: {one.way} {one.reason}" + (f", was {known[name].way}" if name in known else ""), flush=True)
    print(*(f"{count:5d} {way}" for way, count in Counter(one.way for one in found.values()).most_common()), sep="\n")
    reasons = Counter(re.sub(r"\d+", "N", one.reason) for one in found.values() if one.way != "run-time")
    print(*(f"{count:5d} {reason}" for reason, count in reasons.most_common()), sep="\n")
    if given.write and given.target == LISTED:
        write(cases, {**{name: one for name, one in known.items() if name in cases}, **found})
    return any(one.way in ("wrong", "crash") or (known.get(name) or one).way != one.way for name, one in found.items())


if __name__ == "__main__":
    sys.exit(main())
