"""Ops of unknown sizes beside the same ones of known sizes: ``python -m bench.unknown_sizes [NAME...] [--threads 1] [--precision f32]``.

Each op (``bench.image_ops``, ``bench.tensor_ops``) is compiled twice: with the sizes of its inputs, and with symbols for all but the number
of its channels, or of the elements of a row. Both are called with the same arrays, in turns; medians of all calls. The ratio is the time
with symbols over that with numbers; the largest come first. An op whose results differ, or that does not run, is an error.
"""
import argparse
import statistics
import sys
from fnmatch import fnmatch

import numpy as np

import legato
from legato.core.errors import LegatoError

from . import image_ops, tensor_ops
from .engines import PRECISIONS
from .single_ops import Case
from .timing import in_turns

CASES = {case.name: case for case in (*image_ops.CASES, *tensor_ops.CASES)}


def main(argv: list[str] | None = None) -> int:
    """Measures, and prints the table. Returns 1 if an op did not run, or its results differ."""
    options = parser().parse_args(argv)
    chosen = [case for name, case in CASES.items() if any(fnmatch(name, pattern) for pattern in options.names)]
    found: list[tuple[float, str]] = []
    failed = 0
    for number, case in enumerate(chosen, 1):
        if sys.stderr.isatty():
            print(f"\r{number}/{len(chosen)} {case.name:40}", end="", file=sys.stderr, flush=True)
        try:
            known, symbolic = measured(case, options.precision, options.threads, options.seconds)
        except (AssertionError, LegatoError) as error:
            print(f"{case.name}: {' '.join(str(error).split())[:300]}", file=sys.stderr)
            failed += 1
            continue
        ratio = symbolic / known
        found.append((ratio, f"{1e6 * known:10.1f} {1e6 * symbolic:10.1f} {ratio:6.2f}  {case.name}"))
    print(f"{'known us':>10} {'unknown us':>10} {'ratio':>6}  op")
    for _, line in sorted(found, reverse=True):
        print(line)
    if found:
        print(f"geometric mean {statistics.geometric_mean(ratio for ratio, _ in found):.2f} of {len(found)} ops")
    return int(failed > 0)


def measured(case: Case, precision: str, threads: int, seconds: float) -> list[float]:
    """The median seconds of a call with known sizes, and of one with symbols. AssertionError if their results differ."""
    inputs, constants = case.drawn(precision)
    compiled = [legato.compile(legato.from_onnx(case.model(inputs, constants, symbolic)), f"llvm{{threads={threads}}}", cache=False)
                for symbolic in (False, True)]
    results = [result if isinstance(result, (list, tuple)) else [result] for result in (one(*inputs) for one in compiled)]
    for known, symbolic in zip(*results, strict=True):
        check(np.asarray(symbolic), np.asarray(known))
    return in_turns([lambda one=one: one(*inputs) for one in compiled], seconds)


def check(found: np.ndarray, expected: np.ndarray) -> None:
    """AssertionError where numbers differ by more than sums in another order: the 100th of the largest for halves, the 10,000th for others;
    integers may differ by one rounding."""
    assert found.shape == expected.shape, f"results of {found.shape} with unknown sizes, of {expected.shape} with known ones"
    if expected.dtype.kind == "b":
        np.testing.assert_array_equal(found, expected)
        return
    found, wide = found.astype(np.float64), expected.astype(np.float64)
    largest = np.abs(wide[np.isfinite(wide)]).max(initial=0)
    tolerance = 1 if expected.dtype.kind in "iu" else largest * (1e-2 if expected.dtype.itemsize == 2 else 1e-4)
    np.testing.assert_allclose(found, wide, rtol=0, atol=tolerance)


def parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    p = argparse.ArgumentParser(prog="python -m bench.unknown_sizes", description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", metavar="NAME", type=_pattern, default=["*"], help=f"of the {len(CASES)} ops, or patterns such as "
                   "'conv3*' (default: all)")
    p.add_argument("--threads", type=int, default=1, help="how many threads ops run on (default: 1)")
    p.add_argument("--precision", choices=PRECISIONS, default="f32", help="of what is not quantized (default: f32)")
    p.add_argument("--seconds", type=float, default=0.3, help="for both forms of an op (default: 0.3)")
    return p


def _pattern(text: str) -> str:
    if not any(fnmatch(name, text) for name in CASES):
        raise argparse.ArgumentTypeError(f"there is no op {text!r}; there are {', '.join(CASES)}")
    return text


if __name__ == "__main__":
    sys.exit(main())
