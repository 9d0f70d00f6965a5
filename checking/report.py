"""The text of a failed check, and the files that reproduce it."""
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from legato.checking.comparison import ValueDifference
from legato.checking.culprit import Culprit
from legato.checking.inputs import InputSample
from legato.core.errors import LegatoError
from legato.dialects.module import Module
from legato.passes.pipeline.reproducer import Reproducer, Reproduction

if TYPE_CHECKING:
    from legato.checking.checker import CheckedStep


def failure(steps: Sequence[CheckedStep], sample: InputSample, result: str, difference: ValueDifference | None, culprit: Culprit | None,
            problem: str | None, written: Path | None) -> str:
    """What went wrong, in lines. ``steps``: the passes since the module could last be run; ``problem``: why it cannot be run any more."""
    one = steps[-1]
    where = f"pass {one.position} of {one.count}"
    who = one.name if len(steps) == 1 else f"{one.name}, or one of the passes before it that could not be checked alone ({_named(steps)}),"
    lines = [f"{who} ({where}) {'leaves a module that misbehaves' if problem else 'changes what the module computes'}"]
    if problem:
        lines.append(f"  what happens: {problem}")
    if culprit is not None:
        lines.append(f"  first op that differs: {culprit.op}{f', in the kernel @{culprit.kernel}' if culprit.kernel else ''}")
        if len(culprit.ops) > 1:
            lines.append(f"  computed there: {', '.join(culprit.ops)}")
        lines.append(f"  its value: {culprit.difference}")
    if difference is not None:
        lines.append(f"  the result '{result}': {difference}")
    shown = ", ".join(f"{name} {list(array.shape)} {array.dtype}" for name, array in zip(sample.names, sample.arrays))
    lines.append(f"  inputs: {sample.values}, {shown or 'none'}"
                 + (f"; sizes: {', '.join(f'{n} = {v}' for n, v in sample.sizes.items())}" if sample.sizes else ""))
    rounding = one.rounding
    lines.append("  entitled to: " + ("no change of any bit" if rounding.is_exact else
                                      f"moving values by {rounding.ulps:g} ulps" + (f" or {rounding.relative:.2g} of them"
                                                                                   if rounding.relative else "")))
    if written is not None:
        lines.append(f"  reproduce: legato-opt {written} --run-reproducer")
    return "\n".join(lines)


def _named(steps: Sequence[CheckedStep]) -> str:
    names = [step.name for step in steps[:-1]]
    return ", ".join(names) if len(names) <= 6 else f"{', '.join(names[:3])} ... {names[-1]}"


def inputs_beside(path: Path) -> Path:
    """The file for the inputs of a reproducer."""
    return path.with_name(f"{path.name}.inputs.npz")


def write_reproducer(path: Path, module: Module, steps: Sequence[CheckedStep], sample: InputSample, command: str | None,
                     loaded: Sequence[str]) -> Path:
    """Writes the IR before the passes, their text, and the inputs beside it. Returns the path."""
    pipeline = ",".join(step.text for step in steps)
    before = Reproducer(module.clone())
    error = LegatoError(f"the check of {pipeline} failed")
    before.write(Reproduction(path, command, tuple(loaded)), pipeline, error, False, check=inputs_beside(path).name)
    np.savez(inputs_beside(path), **{f"{n:03d} {name}": _storable(array) for n, (name, array)
                                     in enumerate(zip(sample.names, sample.arrays))})
    return path


def _storable(array: np.ndarray) -> np.ndarray:
    """The array as numpy's files hold it: bf16 as f32."""
    return array.astype(np.float32) if array.dtype.kind == "V" or array.dtype.name == "bfloat16" else array


def read_inputs(path: str | Path) -> list[np.ndarray]:
    """The arrays of a file for ``inputs``, in the order of their names. LegatoError if it cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as found:
            return [found[name] for name in sorted(found.files)]
    except FileNotFoundError as error:
        raise LegatoError(f"the inputs for the check: there is no file '{path}'") from error
    except (OSError, ValueError) as error:
        raise LegatoError(f"the inputs in {path} cannot be read: it is no .npz file of arrays that numpy.savez wrote ({error})") from error
