"""OpenVINO: one compiled model per function, built when the model is loaded; inputs and outputs are tensors on the caller's memory."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from legato.runtime.engines.onnxruntime import threads_of


def load(data: memoryview, name: str) -> Callable[..., None]:
    """A function ``f(inputs..., outputs...)`` of an ONNX model. f32 is computed in f32, never narrower."""
    import openvino

    model = bytes(data)
    core = openvino.Core()
    config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads_of(model), "NUM_STREAMS": 1}
    compiled = core.compile_model(core.read_model(model=model, weights=b""), "CPU", config)
    count = len(compiled.inputs)
    idle: list[Any] = []  # free requests: several threads may call at once

    def run(*arrays: np.ndarray) -> None:
        try:
            request = idle.pop()
        except IndexError:
            request = compiled.create_infer_request()
        for number, array in enumerate(arrays[:count]):
            request.set_input_tensor(number, openvino.Tensor(array, shared_memory=True))
        for number, array in enumerate(arrays[count:]):
            request.set_output_tensor(number, openvino.Tensor(array, shared_memory=True))
        request.infer()
        idle.append(request)

    return run
