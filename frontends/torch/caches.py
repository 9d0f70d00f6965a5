"""Caches of transformers as trees of tensors, which torch does not know them to be until somebody says so."""
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any


def register_caches() -> None:
    """Makes ``DynamicCache`` known to torch's pytrees if transformers is in use and nobody has yet, so that arguments and results may hold
    caches: as a dict of lists ``key_cache`` and ``value_cache``, as transformers has it for export. Its own function makes a cache of the
    tensors by joining them with empty constants, which torch's exporter loses."""
    from torch.utils import _pytree  # pyright: ignore[reportMissingImports]

    if "transformers" not in sys.modules:
        return
    try:
        kind = import_module("transformers.cache_utils").DynamicCache
    except (ImportError, AttributeError):   # of a version without it
        return
    if kind not in _pytree.SUPPORTED_NODES:
        _pytree.register_pytree_node(kind, _parts, _restored, serialized_type_name="transformers.cache_utils.DynamicCache",
                                     flatten_with_keys_fn=_named_parts)


def _parts(cache: Any) -> tuple[list[Any], Any]:
    """The keys of all layers and the values of all layers; their names, and the window of each layer that has one."""
    layers = [layer for layer in cache.layers if layer.keys is not None]
    return [[layer.keys for layer in layers], [layer.values for layer in layers]], [
        ["key_cache", "value_cache"], [getattr(layer, "sliding_window", None) for layer in layers]]


def _named_parts(cache: Any) -> tuple[list[tuple[Any, Any]], Any]:
    from torch.utils import _pytree  # pyright: ignore[reportMissingImports]

    parts, context = _parts(cache)
    return [(_pytree.MappingKey(name), part) for name, part in zip(context[0], parts)], context


def _restored(parts: Sequence[Any], context: Any) -> Any:
    """The cache on these tensors themselves."""
    import torch  # pyright: ignore[reportMissingImports]

    caches = import_module("transformers.cache_utils")
    cache = caches.DynamicCache()
    for keys, values, window in zip(*parts, context[1]):
        layer = caches.DynamicLayer() if window is None else caches.DynamicSlidingWindowLayer(sliding_window=window)
        layer.keys, layer.values, layer.is_initialized = keys, values, True
        if isinstance(keys, torch.Tensor):   # torch also asks for trees of other things
            layer.dtype, layer.device = keys.dtype, keys.device
            if window is not None:
                layer.cumulative_length = keys.shape[-2]
        cache.layers.append(layer)
    return cache
