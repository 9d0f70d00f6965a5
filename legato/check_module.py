"""``legato.check``: finds the pass of a pipeline that changes what a module computes."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from legato.checking.checker import MOST_SAMPLES, CheckReport, PassChecker
from legato.compilable import Compilable, own_copy
from legato.driver import lower
from legato.passes.pipeline.base import PassContext
from legato.pipelines import Pipeline


def check(module: Compilable, pipeline: Any = None, *, target: Any = "llvm", inputs: Sequence[np.ndarray] | None = None,
          reproducer: str | Path | None = None, seed: int = 0, samples: int = MOST_SAMPLES,
          progress: Callable[[int, int, str], None] | None = None, **settings: Any) -> CheckReport:
    """Runs a pipeline on a copy of ``module``, and runs what it makes, before and after each pass.

    ``pipeline``: what a ``Pipeline`` is made of, or a ``Pipeline``; None: what compiles the module for ``target``, with ``settings`` as
    ``legato.lower`` takes them (``backends=``, ``rules=``, ``passes=``, ``last=``). ``inputs``: arrays for main's inputs, in order; None:
    some are made, for several sizes of its symbols, with ordinary and edge values. ``samples``: on how many such
    inputs, at most. ``reproducer``: a file to write on failure.
    ``progress``: called with (number, of how many, name of the pass).

    Returns a report of what was checked. Raises ``CheckFailed``, which names the first pass, and the op, that changes a result by more
    than the pass is entitled to (``ModulePass.rounding``).
    """
    checker = PassChecker(inputs, target=str(target), reproducer=reproducer, seed=seed, samples=samples, progress=progress)
    if pipeline is None:
        lower(module, target, check=checker, **settings)
    else:
        passes = pipeline if isinstance(pipeline, Pipeline) else Pipeline(pipeline, target=target, **settings)
        copy, context = own_copy(module), PassContext(observer=checker)
        passes.run(copy, context)
    return checker.report
