"""onnxruntime: one session per function, built when the model is loaded; inputs and outputs are bound in place."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

NARROW = {"bfloat16": 16, "float8_e4m3fn": 17, "float8_e4m3fnuz": 18, "float8_e5m2": 19, "float8_e5m2fnuz": 20}   # ONNX's numbers of types


def load(data: memoryview, name: str) -> Callable[..., None]:
    """A function ``f(inputs..., outputs...)`` of an ONNX model. Its metadata ``legato.threads`` is the number of threads."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.inter_op_num_threads = 1
    model = bytes(data)
    options.intra_op_num_threads = threads_of(model)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    inputs, outputs = [i.name for i in session.get_inputs()], [o.name for o in session.get_outputs()]

    def run(*arrays: np.ndarray) -> None:
        binding = session.io_binding()
        for key, array in zip(inputs, arrays):
            binding.bind_input(key, "cpu", 0, NARROW.get(array.dtype.name, array.dtype), array.shape, array.ctypes.data)
        for key, array in zip(outputs, arrays[len(inputs):]):
            binding.bind_output(key, "cpu", 0, NARROW.get(array.dtype.name, array.dtype), array.shape, array.ctypes.data)
        session.run_with_iobinding(binding)

    return run


def threads_of(model: bytes) -> int:
    """The number of threads in an exported model's metadata; 1 by default."""
    mark = b"legato.threads\x12"  # the key of a StringStringEntryProto; the length and text of its value follow
    at = model.rfind(mark)
    if at < 0:
        return 1
    length = model[at + len(mark)]
    return int(model[at + len(mark) + 1 : at + len(mark) + 1 + length])
