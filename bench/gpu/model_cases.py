"""Whole models that are measured, of one image or text each, as PyTorch writes them; PyTorch runs the same modules."""
from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.util import find_spec

from bench import models
from bench.gpu import cases
from bench.gpu.cases import GpuCase

MODELS = ("resnet50", "bert", "minilm", "vit_b_16", "gpt2")     # of bench.whole
WITHOUT_TORCH = ("resnet50", "minilm")      # that bench.models has, too: in f32, where torch is not installed


def model_cases(name: str, precisions: Sequence[str]) -> Iterator[GpuCase]:
    """A model in f32, tf32 and f16, as far as wanted. Writes its files. ImportError for what needs torch, torchvision and transformers,
    where they are not installed."""
    try:
        from bench import whole
    except ImportError:
        if name not in WITHOUT_TORCH or find_spec("torch") is not None:
            raise
        if "f32" in precisions:
            (case,) = models.cases(name, shipped=False)
            yield GpuCase(name, "f32", case.path, case.inputs, 0, 0, is_model=True)
        return
    cases.DIRECTORY.mkdir(parents=True, exist_ok=True)
    module, given = whole.build(name)
    path = cases.DIRECTORY / f"{name}.onnx"
    single = GpuCase(name, "f32", path, whole.write(module, given, path), 0, 0, module=module, is_model=True)
    for precision in ("f32", "tf32"):
        if precision in precisions:
            yield replace(single, precision=precision)
    if "f16" in precisions:
        halves = copy.deepcopy(module).half()
        path = cases.DIRECTORY / f"{name}-f16.onnx"
        inputs = whole.write(halves, tuple(one.half() if one.is_floating_point() else one for one in given), path)
        yield replace(single, precision="f16", path=path, inputs=inputs, module=halves, reference=single.path)


def known() -> tuple[str, ...]:
    """The names of all cases."""
    return (*cases.KERNELS, *MODELS)


def of_name(name: str, precisions: Sequence[str], small: bool) -> Iterator[GpuCase]:
    """The cases of a kernel or a model, made one by one."""
    return cases.kernel_cases(name, small, precisions) if name in cases.KERNELS else model_cases(name, precisions)
