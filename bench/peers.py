"""Legato beside onnxruntime and OpenVINO: ``python -m bench.peers [NAME | FILE.onnx...] [--threads 1,2] [--json FILE] [--html FILE]``.

Models and single layers, each in its own precision; a file's inputs are in ``FILE.npz`` (``bench.whole`` writes such pairs). The engines
take turns in short blocks, so that other load on the machine affects all of them, and none measures while the threads of another still
spin; medians of all calls. The ratio is Legato's time over that of the better peer.
"""
import argparse
import json
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

from legato.core import cpu
from legato.core.errors import LegatoError
from legato.targets.cpu.machine import Machine

from . import light, models
from .engines import ENGINES, PRECISIONS, Run, versions
from .page import page, table

DIRECTORY = Path("build/bench/peers")
ONNX_TYPES = {"f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16}
PRODUCTS = {"ffn": (128, 768, 3072), "ffn-out": (128, 3072, 768), "row": (1, 768, 3072), "square": (512, 512, 512)}
CONVS = {"conv3x3": (56, 64, 64, 3, 1), "conv1x1": (14, 256, 1024, 1, 1), "conv3x3/2": (56, 128, 128, 3, 2), "first": (224, 3, 64, 7, 2)}
KNOWN = (*PRODUCTS, *CONVS, *models.MINILM, *light.NAMES)
SUFFIX = ".onnx"             # of the names that are files
BLOCK, PAUSE = 0.15, 0.02    # seconds of one engine's turn, and between turns


@dataclass(frozen=True)
class Workload:
    """A model file with inputs. ``precision``: f32, f16, bf16, or int8 for a quantized model; bf16 also for a file of f32 whose products
    are rounded to it, where the CPU multiplies bf16 faster."""

    name: str
    path: Path
    inputs: dict[str, np.ndarray]
    precision: str


@dataclass(frozen=True)
class Result:
    """The median milliseconds of a call by engine; None for an engine that has not run it."""

    name: str
    precision: str
    threads: int
    milliseconds: dict[str, float | None]

    @property
    def ratio(self) -> float | None:
        """Legato's time over the better peer's; None without a peer."""
        ours = self.milliseconds.get("legato")
        peers = [time_ for name, time_ in self.milliseconds.items() if name != "legato" and time_ is not None]
        return ours / min(peers) if ours is not None and peers else None


def layer(name: str, precision: str) -> Workload:
    """A product or convolution with bias and relu, with constant weights."""
    rng, dtype, type_ = np.random.default_rng(0), PRECISIONS[precision], ONNX_TYPES[precision]
    if name in PRODUCTS:
        rows, depth, columns = PRODUCTS[name]
        shape, weight, bias = (rows, depth), rng.standard_normal((depth, columns)) * depth**-0.5, (columns,)
        node = helper.make_node("MatMul", ["x", "w"], ["p"])
    else:
        size, channels, filters, kernel, stride = CONVS[name]
        shape, bias = (1, channels, size, size), (filters, 1, 1)
        weight = rng.standard_normal((filters, channels, kernel, kernel)) * (channels * kernel**2) ** -0.5
        node = helper.make_node("Conv", ["x", "w"], ["p"], pads=[(kernel - 1) // 2] * 4, strides=[stride] * 2, kernel_shape=[kernel] * 2)
    weights = {"w": weight.astype(dtype), "b": rng.standard_normal(bias).astype(dtype)}
    nodes = [node, helper.make_node("Add", ["p", "b"], ["s"]), helper.make_node("Relu", ["s"], ["y"])]
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info("x", type_, shape)],
                              [helper.make_tensor_value_info("y", type_, None)],
                              [helper.make_tensor(key, type_, array.shape, array.tobytes(), raw=True) for key, array in weights.items()])
    path = DIRECTORY / f"{name.replace('/', 's')}_{precision}.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return Workload(name, path, {"x": rng.standard_normal(shape).astype(dtype)}, precision)


def stored(path: Path) -> Workload:
    """The model of a file, with the inputs that ``path`` has beside it as ``.npz``; int8 if it has quantized operands."""
    graph = onnx.load(path, load_external_data=False).graph
    with np.load(path.with_suffix(".npz")) as inputs:
        ordered = {value.name: inputs[value.name] for value in graph.input}
    quantized = any("QuantizeLinear" in node.op_type for node in graph.node)
    return Workload(path.stem, path, ordered, "int8" if quantized else "f32")


def workloads(names: Sequence[str], precisions: Sequence[str]) -> Iterator[Workload]:
    """The named models, files and layers, in those of the precisions that they have."""
    for name in names:
        if name in PRODUCTS or name in CONVS:
            yield from (layer(name, precision) for precision in precisions if precision in PRECISIONS)
        elif name.endswith(SUFFIX):
            found = stored(Path(name))
            if found.precision in precisions:
                yield found
            if found.precision == "f32" and "bf16" in precisions and Machine.host().multiplies_pairs:
                yield replace(found, precision="bf16")
        elif "f32" in precisions:
            yield from (Workload(case.name, case.path, case.inputs, "f32") for case in models.cases(name, shipped=False))


def measure(workload: Workload, threads: int, seconds: float) -> Result:
    """Runs a workload by each engine in turns, ``seconds`` for each. An engine that refuses it has no time, and the reason is printed."""
    return timed(workload, prepared(workload, threads), threads, seconds)


def prepared(workload: Workload, threads: int) -> dict[str, Run]:
    """The calls of the engines that run a workload; the others' reasons are printed."""
    runs: dict[str, Run] = {}
    for name, make in ENGINES.items():
        try:
            run = make(workload.path, workload.inputs, threads, workload.precision)
            if run is not None:
                run()
                runs[name] = run
        except (LegatoError, RuntimeError, ValueError) as error:
            print(f"{name} does not run {workload.name} in {workload.precision}: {str(error).splitlines()[0]}", file=sys.stderr)
    return runs


def timed(workload: Workload, runs: Mapping[str, Run], threads: int, seconds: float) -> Result:
    """The times of these calls, in turns."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(max(2, round(seconds / BLOCK))):
        for name, run in runs.items():
            time.sleep(PAUSE)
            times[name] += _block(run)
    return Result(workload.name, workload.precision, threads,
                  {name: statistics.median(times[name]) * 1e3 if name in times else None for name in ENGINES})


def _block(run: Run) -> list[float]:
    """The seconds of each call in one turn, the first left out: caches hold another engine's data then."""
    taken, end = [], time.perf_counter() + BLOCK
    while len(taken) < 2 or time.perf_counter() < end:
        started = time.perf_counter()
        run()
        taken.append(time.perf_counter() - started)
    return taken[1:]


def _name(text: str) -> str:
    if text not in KNOWN and not text.endswith(SUFFIX):
        raise argparse.ArgumentTypeError(f"there is no workload {text!r}: give one of {', '.join(KNOWN)}, or a file FILE{SUFFIX}")
    for path in (Path(text), Path(text).with_suffix(".npz")) if text not in KNOWN else ():
        if not path.is_file():
            raise argparse.ArgumentTypeError(f"there is no file {path}")
    return text


def parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    p = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", metavar="NAME", type=_name, default=list(KNOWN),
                   help=f"of {', '.join(KNOWN)}; all by default; or a model's file, FILE{SUFFIX}")
    p.add_argument("--threads", default="1", help="numbers of threads, with commas (default: 1)")
    p.add_argument("--precisions", default="f32,bf16,f16,int8", help="which are measured (default: f32,bf16,f16,int8)")
    p.add_argument("--seconds", type=float, default=1.5, help="for each engine and row (default: 1.5)")
    p.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")
    p.add_argument("--html", type=Path, metavar="FILE", help="write a page with bars")
    return p


def main(argv: list[str] | None = None) -> int:
    """Measures, and prints the table. Returns the exit code."""
    options = parser().parse_args(argv)
    results: list[Result] = []
    for workload in workloads(options.names, options.precisions.split(",")):
        for threads in map(int, options.threads.split(",")):
            results.append(measure(workload, threads, options.seconds))
            print(table(results[-1:], headed=len(results) == 1), flush=True)
    machine = {"cpu": cpu.host_name(), **versions()}
    if options.json:
        rows = [{**asdict(result), "ratio": result.ratio} for result in results]
        options.json.write_text(json.dumps({"machine": machine, "results": rows}, indent=1) + "\n")
    if options.html:
        options.html.write_text(page(results, machine))
    return 0


if __name__ == "__main__":
    sys.exit(main())
