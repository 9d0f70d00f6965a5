"""TensorRT: one engine per function, built when the model is loaded, with its own buffers on the GPU."""
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from legato.core.errors import LegatoError


def load(data: memoryview, name: str) -> Callable[..., None]:
    """A function ``f(inputs..., outputs...)`` of an ONNX model of static shapes. Concurrent calls are serialized."""
    import tensorrt
    from cuda.bindings import runtime  # pyright: ignore[reportMissingImports]

    logger = tensorrt.Logger(tensorrt.Logger.ERROR)
    builder = tensorrt.Builder(logger)
    network = builder.create_network(0)
    parser = tensorrt.OnnxParser(network, logger)
    if not parser.parse(bytes(data)):
        reasons = "; ".join(str(parser.get_error(i)) for i in range(parser.num_errors))
        raise LegatoError(f"TensorRT cannot read the part @{name}: {reasons}")
    config = builder.create_builder_config()
    config.clear_flag(tensorrt.BuilderFlag.TF32)  # compute f32 in f32
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise LegatoError(f"TensorRT could not build an engine for the part @{name}; it says why on stderr")
    engine = tensorrt.Runtime(logger).deserialize_cuda_engine(plan)
    context = engine.create_execution_context()
    names = [engine.get_tensor_name(i) for i in range(engine.num_io_tensors)]
    inputs = [n for n in names if engine.get_tensor_mode(n) == tensorrt.TensorIOMode.INPUT]
    outputs = [n for n in names if n not in inputs]
    stream = _checked(runtime.cudaStreamCreate())
    buffers: dict[str, Any] = {}
    lock = threading.Lock()

    def run(*arrays: np.ndarray) -> None:
        with lock:
            given = dict(zip((*inputs, *outputs), arrays))
            for key, array in given.items():
                if key not in buffers:
                    buffers[key] = _checked(runtime.cudaMalloc(max(array.nbytes, 1)))
                    context.set_tensor_address(key, int(buffers[key]))
            to_device, to_host = runtime.cudaMemcpyKind.cudaMemcpyHostToDevice, runtime.cudaMemcpyKind.cudaMemcpyDeviceToHost
            for key in inputs:
                _checked(runtime.cudaMemcpyAsync(buffers[key], given[key].ctypes.data, given[key].nbytes, to_device, stream))
            if not context.execute_async_v3(int(stream)):
                raise RuntimeError(f"TensorRT failed to run the part @{name}; it says why on stderr")
            for key in outputs:
                _checked(runtime.cudaMemcpyAsync(given[key].ctypes.data, buffers[key], given[key].nbytes, to_host, stream))
            _checked(runtime.cudaStreamSynchronize(stream))

    return run


def _checked(answer: tuple[Any, ...]) -> Any:
    """The value returned by a function of the CUDA runtime. RuntimeError if it failed."""
    code, *values = answer
    if int(code):
        raise RuntimeError(f"CUDA: {code}")
    return values[0] if values else None
