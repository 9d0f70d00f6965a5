"""Whole models on GPUs' targets, beside onnxruntime: ``PYTHONPATH=test python test/targets/gpu/whole_models.py DIRECTORY [NAME...]``.

``DIRECTORY`` has NAME.onnx and NAME.npz, the model's inputs, as ``python -m bench.whole DIRECTORY`` writes them; without names all run. For
each model and target it prints how far the results are from onnxruntime's, launches and kernels of a run, and what ptxas spills, where it
is found; ``nvvm`` runs on the stand-in for the driver. It returns 1 if a result is wrong, a kernel has 1.3 launches and more on average, or
registers spill. Of models in 8 bits each layer is computed from the quantized values that onnxruntime gives it, too: other steps than CPUs'
are as few as their functions of floats, in other last bits, make. Each model runs in a process of its own.
"""
import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from interpret import relative_error
from quantized_layers import steps_apart, taken_apart
from standin import PTX_OF, finished, quick

import legato
from legato.codegen.cubin import assembled, find_ptxas, spilled
from legato.codegen.jit import jit
from legato.core.ir_helpers import find
from legato.core.mlir import ir

TARGETS = ("vulkan", "nvvm{approx=true}", "nvvm{approx=true chip=sm_90a}")
CLOSE = 1e-4
MOST_LAUNCHES = 1.3    # for each kernel
INT8 = "-int8"         # of names of models in 8 bits, where what is next to the middle between two steps may become either
OTHER_STEPS = 2e-6     # of the quantized elements of a model, each layer by itself


@dataclass(frozen=True)
class WholeModelRun:
    """A run of a model on a target. ``error``: the greatest distance from onnxruntime's results, by their greatest element, and ``bound``:
    what it has to be less than; ``launches`` and ``kernels``: of a run; ``spilled``: bytes that NVIDIA's assembler keeps in memory for want
    of registers, None without it; ``other_steps``: the part of quantized elements of layers that are another step than the CPU's, None of
    other models, and infinite where two are more than a step apart."""

    name: str
    target: str
    error: float
    bound: float
    launches: int
    kernels: int
    spilled: int | None
    seconds: float
    other_steps: float | None = None

    @property
    def is_right(self) -> bool:
        """Whether it is as it should be."""
        few = self.launches <= MOST_LAUNCHES * self.kernels
        return self.error < self.bound and few and not self.spilled and (self.other_steps or 0) <= OTHER_STEPS

    def __str__(self) -> str:
        spills = "" if self.spilled is None else f"{self.spilled} B spilled"
        steps = "" if self.other_steps is None else f"other steps {self.other_steps:.1e} "
        return (f"{self.name:16} {self.target:32} error {self.error:8.1e}  launches {self.launches:4} / {self.kernels:<4} {spills:12} "
                f"{steps}{self.seconds:5.0f} s{'' if self.is_right else '  WRONG'}")


def run(path: Path, target: str) -> WholeModelRun:
    """A model compiled for a target, and compared."""
    began = time.perf_counter()
    with np.load(path.with_suffix(".npz")) as stored:
        inputs = dict(stored)
    alone = onnxruntime.SessionOptions()
    alone.intra_op_num_threads = 1     # onnxruntime 1.32's threads of a ScatterND with a reduction lose updates of equal indices
    expected = onnxruntime.InferenceSession(str(path), alone).run(None, inputs)
    os.environ["STANDIN_CHIP"] = chip_of(target).strip("sm_a")
    if not all(np.ptp(np.asarray(one)) for one in expected):
        raise ValueError(f"{path}: all elements of a result are equal, which shows nothing: python -m bench.whole writes the model anew")
    exe, launches, kernels = compiled(legato.from_onnx(path), target)
    spilled = spills(target) if target.startswith("nvvm") else None
    error, bound, other_steps = distance(exe(**inputs), expected), CLOSE, None
    if path.stem.endswith(INT8):     # a step of one layer changes what follows: twice what CPUs are off, whose sums are exact
        bound = 2 * distance(legato.compile(legato.from_onnx(path))(**inputs), expected)
        other_steps = steps_of_layers(path, inputs, target)
    return WholeModelRun(path.stem, target, error, bound, launches, kernels, spilled, time.perf_counter() - began, other_steps)


def compiled(module: legato.Module, target: str) -> tuple[Any, int, int]:
    """A model that can be called, and the launches and kernels of a run."""
    if not target.startswith("nvvm"):
        return legato.compile(module, target), *counts(legato.lower(module, target, last="outlined"))
    outlined = legato.lower(module, quick(target), last="outlined")
    lowered = finished(outlined, target)
    return jit(lowered.module, lowered.weights), *counts(outlined)


def steps_of_layers(path: Path, inputs: dict[str, np.ndarray], target: str) -> float:
    """The part of quantized elements that are another step than on the CPU, layer by layer; infinite where two are more than one apart."""
    layers = taken_apart(onnx.load(path), inputs)
    found, others = (exe(*layers.inputs.values()) for exe in (
        compiled(legato.from_onnx(layers.model), target)[0], legato.compile(legato.from_onnx(layers.model))))
    part, most = steps_apart(*(one if isinstance(one, tuple) else (one,) for one in (found, others)))
    return part if most <= 1 else float("inf")


def distance(found: object, expected: Sequence[np.ndarray]) -> float:
    """How far results are from others, by the greatest element of these."""
    results = found if isinstance(found, tuple) else (found,)
    return max(relative_error(np.asarray(one), np.asarray(other)) for one, other in zip(results, expected, strict=True))


def counts(outlined: legato.Module) -> tuple[int, int]:
    """The launches and the kernels of a run; those of a loop once, and of a condition's branches those of the one that has most."""
    functions = {f.attributes["sym_name"].value: f for f in find(outlined.operation, "func.func")}
    called = [functions[call.attributes["callee"].value] for call in find(functions["main"], "func.call")]
    each = [number for kernel in called if (number := launches(kernel))]
    return sum(each), len(each)


def launches(op: ir.Operation | ir.OpView) -> int:
    """The launches of an op in a run."""
    inside = [sum(launches(one) for block in region.blocks for one in block.operations) for region in op.regions]
    most = max(inside, default=0) if op.operation.name == "scf.if" else sum(inside)
    return most + (op.operation.name == "gpu.launch_func")


def chip_of(target: str) -> str:
    """The chip that a target compiles for, where it is one of NVIDIA's."""
    found = re.search(r"chip=(\w+)", target)
    return found[1] if found else "sm_80"


def spills(target: str) -> int | None:
    """The bytes that NVIDIA's assembler spills in the kernels of the model that was compiled last."""
    assembler = find_ptxas()
    if assembler is None:
        return None
    text, _ = assembled(PTX_OF[-1], chip_of(target))
    command = [assembler, f"-arch={chip_of(target)}", "-v", "/dev/stdin", "-o", "/dev/null"]
    made = subprocess.run(command, input=text, capture_output=True, text=True)
    if made.returncode:
        raise RuntimeError(f"ptxas does not take the PTX: {made.stderr}")
    return sum(spilled(made.stderr).values())


def main(argv: list[str] | None = None) -> int:
    """Runs models. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="whole_models.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, help="where NAME.onnx and NAME.npz are")
    parser.add_argument("names", nargs="*", help="of models; all by default")
    parser.add_argument("--targets", nargs="+", default=TARGETS, help="instead of vulkan, and nvvm for sm_80 and sm_90a")
    options = parser.parse_args(argv)
    names = options.names or sorted(path.stem for path in options.directory.glob("*.onnx") if path.with_suffix(".npz").exists())
    if not names:
        parser.error(f"there is no NAME.onnx with a NAME.npz in {options.directory}: python -m bench.whole {options.directory} writes them")
    if len(names) * len(options.targets) == 1:
        result = run(options.directory / f"{names[0]}.onnx", options.targets[0])
        print(result, flush=True)
        return int(not result.is_right)
    codes = [subprocess.run([sys.executable, __file__, str(options.directory), name, "--targets", target]).returncode
             for name in names for target in options.targets]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
