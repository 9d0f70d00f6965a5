"""A model of several results, compiled as users do, beside onnxruntime."""
from collections.abc import Mapping

import numpy as np
import onnxruntime

from legato.runtime import Executable


def check_beside_onnxruntime(data: bytes, executable: Executable, feeds: Mapping[str, np.ndarray]) -> None:
    """Asserts that a model's results are onnxruntime's. ``executable``: what the model was compiled to; ``feeds``: its inputs, by name."""
    expected = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, dict(feeds))
    results = executable(*feeds.values())
    for result, wanted in zip(results, map(np.asarray, expected), strict=True):
        np.testing.assert_allclose(np.from_dlpack(result), wanted, rtol=1e-4, atol=1e-5 * np.abs(wanted).max())
