"""Models on Vulkan devices: the artifact of the target ``vulkan`` as a callable."""
from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from legato.runtime.vulkan.model import VulkanModel


def prepare(data: memoryview, weights: Mapping[str, np.ndarray] | None = None) -> VulkanModel:
    """The model, with its weights on the device."""
    return VulkanModel(bytes(data), weights or {})


def load(model: VulkanModel, name: str) -> Callable[..., list[np.ndarray] | None]:
    """A function ``f(inputs..., outputs...)``, or ``f(inputs...)`` that returns results: the model itself, which has one function."""
    return model
