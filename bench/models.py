"""Whole models compared with onnxruntime: ``python -m bench.models [NAME...]``.

One line per model: the median time of a call, alternating between Legato and onnxruntime, the time of import and compile, the relative
error max|a-b| / max|b|, and the peak memory of a compile in a separate process with its budget (2.5 times the weights plus 500 MB).
"""
import argparse
import functools
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

import legato
from legato.examples.minilm import model as minilm
from legato.examples.minilm.tokens import encode, load_tokenizer

from . import light
from .timing import in_turns

DIRECTORY = Path("build/bench")
MINILM = {"minilm": (1, 128), "minilm_dynamic": ("batch", "seq")}
TEXT = "A compiler reads a program that people wrote, and writes one that a machine runs; nobody should notice the difference. " * 8


@dataclass(frozen=True)
class Case:
    """A model file and one set of inputs for it, by name."""

    name: str
    path: Path
    inputs: dict[str, np.ndarray]


def cases(name: str, shipped: bool) -> Iterator[Case]:
    """The cases of one model: one for most, one per length for MiniLM with dynamic dimensions. Writes the model's file first.

    Light models have random weights unless `shipped`.
    """
    path = DIRECTORY / (f"{name}_shipped" if shipped else name) / "model.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    if name in MINILM:
        minilm.save(path, minilm.build(*MINILM[name]))
        tokenizer = load_tokenizer()
        for length in (128,) if name == "minilm" else (7, 31, 128):
            yield Case(f"{name}_{length}", path, encode(tokenizer, [TEXT], length))
    else:
        onnx.save(light.shipped(name), path) if shipped else light.save(name, path)
        yield Case(name, path, light.image(light.shipped(name)))


def compile_model(path: Path, target: str) -> tuple[legato.Executable, float]:
    """The executable, and the seconds of import and compile."""
    started = time.perf_counter()
    executable = legato.compile(legato.from_onnx(path), target=target, cache=False)
    return executable, time.perf_counter() - started


def peak_memory(path: Path, target: str) -> tuple[float, float]:
    """The peak memory in MB of a process that only compiles the model, and the budget in MB."""
    command = [sys.executable, "-m", "bench.models", "--compile", str(path), "--target", target]
    peak = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])
    weights = sum(file.stat().st_size for file in path.parent.iterdir() if file != path) / 1e6
    return peak, 2.5 * weights + 500


def _compile_only(path: Path, target: str) -> None:
    compile_model(path, target)
    # The high-water mark of this process; getrusage would include the parent's memory, which the fork shares.
    status = Path("/proc/self/status").read_text()
    print(int(status.split("VmHWM:")[1].split()[0]) / 1e3)


def _session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def measure(name: str, threads: int, shipped: bool = False) -> Iterator[str]:
    """Measures a model. Yields one line of the table per case."""
    target = f"llvm{{threads={threads}}}"
    every = list(cases(name, shipped))
    path = every[0].path
    executable, seconds = compile_model(path, target)
    session = _session(path, threads)
    memory, budget = peak_memory(path, target)
    for case in every:
        call = functools.partial(executable, *case.inputs.values())
        call_reference = functools.partial(session.run, None, case.inputs)
        expected = np.asarray(call_reference()[0])
        error = np.abs(np.from_dlpack(call()) - expected).max() / np.abs(expected).max()
        ours, theirs = (seconds * 1e3 for seconds in in_turns([call, call_reference]))
        yield f"{case.name:20} {ours:9.2f} {theirs:9.2f} {ours / theirs:6.2f} {seconds:9.2f} {error:9.1e} {memory:8.0f} {budget:7.0f}"


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join((*MINILM, *light.NAMES))}; all by default")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--shipped", action="store_true", help="light models with the constant weights that they are shipped with")
    parser.add_argument("--compile", type=Path, metavar="MODEL", help="only compile this model, and print the peak memory in MB")
    parser.add_argument("--target", default="llvm{threads=1}", help="the target of --compile")
    arguments = parser.parse_args()
    if arguments.compile:
        _compile_only(arguments.compile, arguments.target)
        return
    unknown = set(arguments.names) - {*MINILM, *light.NAMES}
    if unknown:
        parser.error(f"no model {', '.join(sorted(unknown))}")
    print(f"{'':20} {'ours ms':>9} {'ort ms':>9} {'ratio':>6} {'compile s':>9} {'error':>9} {'peak MB':>8} {'budget':>7}")
    for name in arguments.names or (*MINILM, *light.NAMES):
        for line in measure(name, arguments.threads, arguments.shipped):
            print(line, flush=True)


if __name__ == "__main__":
    main()
