"""The ops of PyTorch's own test database by ``torch.compile(backend="legato")``, beside PyTorch itself.

``python -m bench.torch_ops [NAME...]`` compiles each op for some of the database's samples and compares the results; ``--special`` puts
NaN, infinities and zeros among the numbers first. It needs torch, onnxscript and expecttest. Ops that draw random numbers are left out.
"""
import argparse
import copy
import itertools
import logging
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import torch  # pyright: ignore[reportMissingImports]
from torch.testing._internal.common_methods_invocations import op_db  # pyright: ignore[reportMissingImports]

from legato.core.errors import LegatoError

RANDOM = ("bernoulli", "cauchy", "dropout", "empty", "exponential", "fractional_", "geometric", "jiterator", "log_normal", "lobpcg",
          "multinomial", "normal_", "rand", "resize_", "rrelu", "uniform")
NORMAL = ("normal",)     # whole names
TOLERANCE = {torch.float16: 2e-2, torch.bfloat16: 6e-2, torch.float32: 2e-4, torch.float64: 1e-7}
SPECIAL = (float("nan"), float("inf"), -float("inf"), -0.0, 0.0)
MOST = 60       # samples of an op that are looked at for those that are taken


def main() -> None:
    """Prints each sample that is not right, and how many ops and samples are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="of ops, as in torch's database; all by default")
    parser.add_argument("--dtype", default="float32", help="of the samples (%(default)s)")
    parser.add_argument("--samples", type=int, default=3, help="how many of each op (%(default)s)")
    parser.add_argument("--special", action="store_true", help="put NaN, infinities and zeros into floats")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    dtype = getattr(torch, arguments.dtype)
    counts: Counter[str] = Counter()
    of_ops: dict[str, set[str]] = defaultdict(set)
    for op in op_db:
        name = f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name
        if dtype not in op.dtypes or any(text in op.name for text in RANDOM) or op.name in NORMAL:
            continue
        if arguments.names and not {name, op.name} & set(arguments.names):
            continue
        for number, sample in enumerate(_samples(op, dtype, arguments.samples, arguments.special)):
            state, reason = _outcome(op.op, sample)
            counts[state] += 1
            of_ops[name].add(state)
            if state != "right":
                print(f"{state:8} {name} #{number}: {' '.join(reason.split())[:200]}", flush=True)
    right = sum(states == {"right"} for states in of_ops.values())
    print(f"{right} of {len(of_ops)} ops are right in all of their samples, in {arguments.dtype}; samples: {dict(counts)}")


def _samples(op: Any, dtype: torch.dtype, count: int, special: bool) -> Iterator[Any]:
    """Some of an op's samples, evenly among the first."""
    found = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=False), MOST))
    for sample in found[::max(1, len(found) // count)][:count]:
        if special:
            _make_special([sample.input, sample.args, sample.kwargs])
        yield sample


def _make_special(values: Any) -> None:
    """Special numbers at random places of the floats in a sample."""
    generator = torch.Generator().manual_seed(7)
    for tensor in torch.utils._pytree.tree_leaves(values):
        if isinstance(tensor, torch.Tensor) and tensor.is_floating_point() and tensor.numel() >= len(SPECIAL) and tensor.is_contiguous():
            for value in SPECIAL:
                tensor.view(-1)[int(torch.randint(tensor.numel(), (1,), generator=generator))] = value


def _outcome(function: Any, sample: Any) -> tuple[str, str]:
    """``right``, ``wrong``, ``refused``, ``failed`` (an error that is no refusal) or ``eager`` (PyTorch itself fails), and why."""
    def call(given: Any, args: Any, kwargs: Any) -> Any:
        return function(given, *args, **kwargs)

    given = sample.input, sample.args, sample.kwargs
    try:
        expected = call(*copy.deepcopy(given))
    except Exception as error:
        return "eager", str(error)
    torch._dynamo.reset()
    try:
        with torch.no_grad():
            found = torch.compile(call, backend="legato", dynamic=False)(*copy.deepcopy(given))
    except Exception as error:
        return ("refused" if _is_refusal(error) else "failed"), str(error)
    try:
        for ours, theirs in zip(*map(torch.utils._pytree.tree_leaves, (found, expected)), strict=True):
            if isinstance(theirs, (torch.Tensor, int, float, complex)):
                tolerance = TOLERANCE.get(getattr(theirs, "dtype", None), 1e-4)
                torch.testing.assert_close(ours, theirs, rtol=tolerance, atol=tolerance, equal_nan=True)
            elif ours != theirs:
                return "wrong", f"{ours} in place of {theirs}"
    except (AssertionError, TypeError, ValueError) as error:
        return "wrong", str(error)
    return "right", ""


def _is_refusal(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, LegatoError):
            return True
        error = error.__cause__ or getattr(error, "inner_exception", None)
    return False


if __name__ == "__main__":
    main()
