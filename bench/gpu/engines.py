"""What runs a case: Legato, models on CUDA also as graphs, on Vulkan without matrices, torch as it is and compiled, onnxruntime on the GPU.
``ENGINES`` by name."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any

import numpy as np
import onnxruntime

import legato
from bench.gpu.cases import GpuCase
from legato.host_device import settled
from legato.targets.builtin import NONE
from legato.targets.catalog import Catalog

PROFILED = 5        # runs whose kernels are timed
PACKAGES = ("legato", "torch", "onnxruntime-gpu", "onnxruntime")
BF16 = "bfloat16"
CUDA = "CUDAExecutionProvider"      # of onnxruntime
GRAPHS = "graphs="                  # an option of nvvm
OWN = ("legato", "legato graphs")   # the engines that are Legato's


@dataclass(frozen=True)
class GpuRun:
    """A case that an engine is ready to run. ``call``: submits one run; ``wait``: until the device has done it; ``result``: of a call, as a
    numpy array; ``kernels``: the seconds of a run in kernels, by the device's clock, where the engine says."""

    call: Callable[[], Any]
    wait: Callable[[], None]
    result: Callable[[Any], np.ndarray]
    kernels: Callable[[], float] | None = None


def compiled(module: Any, target: str) -> legato.Executable:
    """A module or a kernel, compiled for the device."""
    return legato.compile(module, target=target, cache=False)


def kernel_seconds(executable: legato.Executable, arguments: list[Any]) -> float:
    """The seconds of a run in kernels, by the device's clock: the sum of their medians."""
    profile = legato.profile(executable, *arguments, runs=PROFILED, warmup=1, peaks=False)
    return sum(one.seconds for one in profile.calls)


def torch_of_cuda() -> Any:
    """The package torch if it is here and has a GPU, or None."""
    if find_spec("torch") is None:
        return None
    import torch  # pyright: ignore[reportMissingImports]

    return torch if torch.cuda.is_available() else None


def legato_run(case: GpuCase, target: str) -> GpuRun:
    """Legato. With tensors of the device where torch has them, else with host arrays, whose copies then count in a call."""
    option = "matmul-precision=tf32" if case.precision == "tf32" and target.startswith("nvvm") else ""
    executable = compiled(legato.from_onnx(case.path), with_option(target, option))
    torch = torch_of_cuda() if target.startswith("nvvm") else None
    if torch is None:
        arguments = list(case.inputs.values())
        return GpuRun(lambda: executable(*arguments), lambda: None, as_array, lambda: kernel_seconds(executable, arguments))
    tensors = [on_device(torch, array) for array in case.inputs.values()]
    return GpuRun(lambda: executable(*tensors), torch.cuda.synchronize, lambda made: from_device(torch, torch.from_dlpack(first(made))),
                  lambda: kernel_seconds(executable, tensors))


def as_graphs(case: GpuCase, target: str) -> GpuRun | None:
    """Legato's launches of a model as one CUDA graph; None for kernels, and where the target says whether there are graphs."""
    if not case.is_model or not target.startswith("nvvm") or GRAPHS in target:
        return None
    return legato_run(case, with_option(target, f"{GRAPHS}true"))


def without_matrices(case: GpuCase, target: str) -> GpuRun | None:
    """Legato without a Vulkan device's cooperative matrices; None where it has none, or the case takes none."""
    chosen = settled(Catalog().resolve(target))
    if case.precision not in ("f16", "bf16") or chosen.options.get("matrices", NONE) == NONE:
        return None
    return legato_run(case, str(replace(chosen, options={**chosen.options, "matrices": NONE})))


def torch_run(case: GpuCase, target: str, compile: bool = False) -> GpuRun | None:
    """torch, whose products are cuBLAS's and whose convolutions are cuDNN's."""
    torch = torch_of_cuda()
    if torch is None or (case.torch is None and case.module is None):
        return None
    allowed = case.precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed
    run = torch_function(case, torch)
    if compile:     # what torch has compiled of other cases would count: it makes sizes unknown, and gives up after eight of a function
        torch.compiler.reset()
        run = torch.compile(run)
    tensors = [on_device(torch, array) for array in case.inputs.values()]

    def call() -> Any:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed
        with torch.inference_mode():
            return run(*tensors)

    return GpuRun(call, torch.cuda.synchronize, lambda made: from_device(torch, first(made)))


def torch_function(case: GpuCase, torch: Any) -> Callable[..., Any]:
    """What torch computes of tensors on the device."""
    if case.module is not None:
        return case.module.cuda()

    def function(*tensors: Any) -> Any:
        assert case.torch is not None
        return case.torch(torch, *tensors)

    return function


def onnxruntime_run(case: GpuCase, target: str) -> GpuRun | None:
    """onnxruntime's CUDA provider, on its own copies of the inputs; None where it is not installed, and for bf16 arrays, which its Python
    interface does not take. RuntimeError if the provider does not start: onnxruntime would run on the CPU instead."""
    if CUDA not in onnxruntime.get_available_providers() or case.precision == "bf16":
        return None
    if torch_of_cuda() is None:     # which has loaded CUDA's libraries otherwise
        onnxruntime.preload_dlls()
    settings = {"use_tf32": "1" if case.precision == "tf32" else "0"}
    session = onnxruntime.InferenceSession(str(case.path), providers=[(CUDA, settings)])
    if CUDA not in session.get_providers():
        raise RuntimeError("onnxruntime's CUDA provider does not start: it needs the CUDA and cuDNN that it was built for")
    binding = session.io_binding()
    for name, array in case.inputs.items():
        binding.bind_ortvalue_input(name, onnxruntime.OrtValue.ortvalue_from_numpy(array, "cuda", 0))
    for output in session.get_outputs():
        binding.bind_output(output.name, "cuda")
    return GpuRun(lambda: session.run_with_iobinding(binding), binding.synchronize_outputs,
                  lambda made: binding.copy_outputs_to_cpu()[0].astype(np.float32))


def with_option(target: str, option: str) -> str:
    """A target with one more option; the target itself for an empty one."""
    if not option:
        return target
    return f"{target[:-1]} {option}}}" if target.endswith("}") else f"{target}{{{option}}}"


def on_device(torch: Any, array: np.ndarray) -> Any:
    """A copy of an array on the GPU."""
    if array.dtype.name == BF16:
        return torch.from_numpy(array.view(np.uint16)).view(torch.bfloat16).cuda()
    return torch.from_numpy(np.ascontiguousarray(array)).cuda()


def from_device(torch: Any, tensor: Any) -> np.ndarray:
    """A copy of a tensor of the GPU, in f32."""
    return tensor.to(torch.float32).cpu().numpy()


def as_array(made: Any) -> np.ndarray:
    """A result on the host, in f32; the first of several."""
    return np.asarray(first(made)).astype(np.float32)


def first(made: Any) -> Any:
    """The first of several results."""
    return made[0] if isinstance(made, list | tuple) else made


ENGINES: Mapping[str, Callable[[GpuCase, str], GpuRun | None]] = {
    "legato": legato_run, "legato graphs": as_graphs, "no matrices": without_matrices, "torch": torch_run,
    "torch.compile": lambda case, target: torch_run(case, target, compile=True), "onnxruntime": onnxruntime_run,
}


def missing() -> list[str]:
    """What is said of engines that do not run here, and why."""
    found = []
    if find_spec("torch") is None:
        found.append("torch is not installed: no rows of torch, and Legato's calls are with host arrays, copies included")
    elif torch_of_cuda() is None:
        found.append("torch finds no GPU: no rows of torch, and Legato's calls are with host arrays, copies included")
    if CUDA not in onnxruntime.get_available_providers():
        found.append("onnxruntime has no CUDA provider (pip install onnxruntime-gpu): no rows of onnxruntime")
    return found


def versions() -> dict[str, str]:
    """The installed versions of the engines."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def reference(case: GpuCase) -> np.ndarray:
    """The result by onnxruntime on the CPU in f32, from the case's own inputs: of halves their values."""
    given = {name: array if array.dtype.kind in "iu" else array.astype(np.float32) for name, array in case.inputs.items()}
    model: str | bytes = str(case.reference or case.path)
    if case.reference is None and case.precision in ("f16", "bf16"):
        import onnx

        made = onnx.load(case.path)
        for value in (*made.graph.input, *made.graph.output):
            value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        model = made.SerializeToString()
    return np.asarray(onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, given)[0])
