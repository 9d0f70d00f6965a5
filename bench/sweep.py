"""Random layers beside onnxruntime and OpenVINO: ``python -m bench.sweep [--kinds conv2d,pool] [--count 100] [--seed 0]``.

Which layers Legato is slow at, of kinds and sizes that nobody chose (``bench.random_layers``). Each layer is compiled and timed as
``bench.peers`` does, and the largest difference from onnxruntime is beside it: max|a-b| / max|b|. Last come the slowest, the median and the
worst ratio of each kind. ``--only conv2d:17`` runs one layer again.
"""
import argparse
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnx

from .draw import TYPES
from .engines import Run
from .peers import Workload, prepared, timed
from .random_layers import KINDS, kinds, layer

LISTED = 15     # of the slowest layers


def main(argv: list[str] | None = None) -> int:
    """Measures, and prints a line a layer, then the slowest. Returns 1 if a layer did not run."""
    options = parser().parse_args(argv)
    swept = [kind for kind in options.kinds.split(",") if kind in kinds(options.precision)]
    chosen = [options.only] if options.only else [(swept[number % len(swept)], options.seed + number) for number in range(options.count)]
    found: list[tuple[float, str]] = []
    by_kind: dict[str, list[float]] = defaultdict(list)
    failed = False
    with TemporaryDirectory() as folder:
        for kind, seed in chosen:
            drawn = layer(kind, seed, options.precision)
            path = Path(folder) / "layer.onnx"
            onnx.save(drawn.model, path)
            if options.keep:
                keep(Path(options.keep) / f"{kind}-{seed}", path, drawn.inputs)
            workload = Workload(f"{kind}:{seed}", path, drawn.inputs, options.precision)
            runs = prepared(workload, options.threads)
            result = timed(workload, runs, options.threads, options.seconds)
            times = result.milliseconds
            text = f"{kind}:{seed} {drawn.label}"
            if times["legato"] is None:
                failed = True
                continue
            columns = " ".join(f"{1e3 * time:9.1f}" if time is not None else "        -" for time in times.values())
            ratio = result.ratio
            line = f"{columns} {ratio if ratio is not None else float('nan'):6.2f} {difference(runs):8.1e}  {text}"
            print(line, flush=True)
            if ratio is not None:
                found.append((ratio, line))
                by_kind[kind].append(ratio)
    if found:
        print(report(found, by_kind))
    return int(failed)


def difference(runs: Mapping[str, Run]) -> float:
    """max|a-b| / max|b| of Legato's and onnxruntime's results; NaN where onnxruntime has none."""
    if "onnxruntime" not in runs:
        return float("nan")
    ours, theirs = (runs[name]() for name in ("legato", "onnxruntime"))
    expected = theirs[0]    # pyright: ignore[reportIndexIssue]
    got, wanted = np.asarray(ours[0] if isinstance(ours, (tuple, list)) else ours).astype(np.float64), expected.astype(np.float64)
    both = np.isfinite(wanted) & np.isfinite(got)
    if not np.array_equal(np.isnan(got), np.isnan(wanted)) or not np.array_equal(got[~both], wanted[~both], equal_nan=True):
        return float("inf")
    return float(np.abs(got - wanted)[both].max(initial=0) / max(np.abs(wanted)[both].max(initial=0), 1e-30))


def keep(stem: Path, path: Path, inputs: dict[str, np.ndarray]) -> None:
    """Stores a layer as ``bench.peers`` and ``legato-run`` take it: a model, its inputs as ``.npz``."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    stem.with_suffix(".onnx").write_bytes(path.read_bytes())
    np.savez(stem.with_suffix(".npz"), **inputs)    # pyright: ignore[reportArgumentType]


def report(found: list[tuple[float, str]], by_kind: dict[str, list[float]]) -> str:
    """The slowest layers, and the ratios of each kind."""
    ratios = [ratio for ratio, _ in found]
    lines = [f"\n{len(found)} layers: median {statistics.median(ratios):.2f}, slower than a peer {sum(ratio > 1 for ratio in ratios)}"]
    lines += [f"  {kind:14} median {statistics.median(own):.2f}, worst {max(own):.2f} of {len(own)}" for kind, own in by_kind.items()]
    slow = sorted((line for line in found if line[0] > 1), reverse=True)[:LISTED]
    if slow:
        lines.append("the slowest (us of Legato, onnxruntime, OpenVINO; ratio; difference):")
    return "\n".join([*lines, *(line for _, line in slow)])


def one(text: str) -> tuple[str, int]:
    """A layer's kind and seed, as ``kind:seed``."""
    kind, _, seed = text.partition(":")
    if kind not in KINDS or not seed.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} names no layer: give KIND:SEED, with a kind of {', '.join(KINDS)}")
    return kind, int(seed)


def names(text: str) -> str:
    """Kinds, with commas."""
    unknown = [kind for kind in text.split(",") if kind not in KINDS]
    if unknown:
        raise argparse.ArgumentTypeError(f"there is no kind {unknown[0]!r}: give some of {', '.join(KINDS)}")
    return text


def parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    p = argparse.ArgumentParser(prog="python -m bench.sweep", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kinds", type=names, default=",".join(KINDS), help=f"with commas, of {', '.join(KINDS)} (default: all)")
    p.add_argument("--count", type=int, default=60, help="how many layers (default: 60)")
    p.add_argument("--seed", type=int, default=0, help="of the first layer; others count on (default: 0)")
    p.add_argument("--only", type=one, metavar="KIND:SEED", help="one layer, named as in the output")
    p.add_argument("--precision", choices=list(TYPES), default="f32", help="element type; int8: quantized products, convolutions and pools")
    p.add_argument("--threads", type=int, default=1, help="of each engine (default: 1)")
    p.add_argument("--seconds", type=float, default=0.3, help="for each engine and layer (default: 0.3)")
    p.add_argument("--keep", metavar="FOLDER", help="store the models and inputs there, for bench.peers and legato-run")
    return p


if __name__ == "__main__":
    sys.exit(main())
