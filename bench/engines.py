"""The compilers and runtimes that a model is run by, beside each other: ``ENGINES`` by name."""
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import ml_dtypes
import numpy as np
import onnxruntime

import legato

Inputs = Mapping[str, np.ndarray]
Run = Callable[[], object]
PRECISIONS = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}


def legato_run(path: Path, inputs: Inputs, threads: int, precision: str) -> Run:
    """A call of the model, compiled. ``precision``: of the model itself, or bf16 for one of f32 whose products are rounded to that."""
    rounded = " matmul-precision=bf16" if precision == "bf16" else ""
    executable = legato.compile(legato.from_onnx(path), f"llvm{{threads={threads}{rounded}}}", cache=False)
    arguments = list(inputs.values())
    return lambda: executable(*arguments)


def onnxruntime_run(path: Path, inputs: Inputs, threads: int, precision: str) -> Run | None:
    """A call of onnxruntime's CPU provider; None for bf16, which it does not have."""
    if precision == "bf16":
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, dict(inputs))


def openvino_run(path: Path, inputs: Inputs, threads: int, precision: str) -> Run | None:
    """A call of OpenVINO's CPU plugin, in the given precision: by itself it computes f32 models in bf16 where the CPU has that, all of
    their ops, and those of f16 too where the CPU has no arithmetic of f16; and it rounds what weights of few bits are multiplied by to
    bytes, unless it is told not to. None where it is not installed.

    ``ONEDNN_MAX_CPU_ISA=AVX2`` limits oneDNN alone: products of f32 without an activation are MLAS's, which uses AVX-512 all the same
    (``gemm_mlas_f32`` in the plugin's profile), unless CPUID hides it."""
    try:
        import openvino
    except ImportError:
        return None
    hint = "f32" if precision == "int8" else precision    # of what is not quantized
    settings = {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": hint, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}
    if precision != "int8":
        settings["DYNAMIC_QUANTIZATION_GROUP_SIZE"] = 0
    core = openvino.Core()
    compiled = core.compile_model(str(path), "CPU", settings)
    if precision == "f16" and compiled.get_property("INFERENCE_PRECISION_HINT") == openvino.Type.bf16:
        compiled = core.compile_model(str(path), "CPU", settings | {"INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    tensors = {name: openvino.Tensor(array) if precision != "bf16" or array.dtype != ml_dtypes.bfloat16
               else openvino.Tensor(array.view(np.uint16), array.shape, openvino.Type.bf16) for name, array in inputs.items()}
    return lambda: request.infer(tensors)


ENGINES: dict[str, Callable[[Path, Inputs, int, str], Run | None]] = {
    "legato": legato_run, "onnxruntime": onnxruntime_run, "openvino": openvino_run,
}


def versions() -> dict[str, str]:
    """The installed versions of the engines."""
    found = {}
    for name in ENGINES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found
