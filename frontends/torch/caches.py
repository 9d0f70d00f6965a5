"""Caches of transformers as trees of tensors, which torch does not know them to be until somebody says so."""
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from legato.core.errors import LegatoError

_LAYERS = ("DynamicLayer", "DynamicSlidingWindowLayer")   # what a cache is made of again


def register_caches() -> None:
    """Makes ``DynamicCache`` and ``EncoderDecoderCache`` known to torch's pytrees if transformers is in use and nobody has yet, so that
    arguments and results may hold caches: the first as a dict of lists ``key_cache`` and ``value_cache``, as transformers has it for
    export (its own function makes a cache of the tensors by joining them with empty constants, which torch's exporter loses), the second
    as its two caches."""
    from torch.utils import _pytree  # pyright: ignore[reportMissingImports]

    if "transformers" not in sys.modules:
        return
    functions = {"DynamicCache": (_parts, _restored, _named_parts), "EncoderDecoderCache": (_pair, _restored_pair, _named_pair)}
    for name, (parts, restored, named_parts) in functions.items():
        try:
            kind = getattr(import_module("transformers.cache_utils"), name)
        except (ImportError, AttributeError):   # of a version without it
            continue
        if kind not in _pytree.SUPPORTED_NODES:
            _pytree.register_pytree_node(kind, parts, restored, serialized_type_name=f"transformers.cache_utils.{name}",
                                         flatten_with_keys_fn=named_parts)


def _parts(cache: Any) -> tuple[list[Any], Any]:
    """The keys of all layers and the values of all layers; their names, and the window of each layer that has one. LegatoError for a
    layer that holds more, as states of recurrent layers."""
    layers = [layer for layer in cache.layers if getattr(layer, "keys", layer) is not None]
    other = next((name for name in (type(layer).__name__ for layer in layers) if name not in _LAYERS), None)
    if other is not None:
        raise LegatoError(f"a cache with a {other} is not supported, only caches of keys and values: give use_cache=False")
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
                layer.cumulative_length, layer.counts_kept = keys.shape[-2], True
        cache.layers.append(layer)
    return cache


def forgotten_tokens(arguments: Any) -> tuple[int, int] | None:
    """How many tokens the first layer of a cache among arguments keeps, and its window, where it has dropped some, or may have: layers
    of results know how many they keep only. Graphs have sizes of tensors for counts, and would give new tokens the positions behind
    those that are kept."""
    from torch.utils import _pytree  # pyright: ignore[reportMissingImports]

    kind = getattr(sys.modules.get("transformers.cache_utils"), "DynamicCache", None)
    if kind is None:
        return None
    leaves = _pytree.tree_leaves(arguments, is_leaf=lambda value: isinstance(value, kind))
    for cache in (leaf for leaf in leaves if isinstance(leaf, kind)):
        layer = next((layer for layer in cache.layers if getattr(layer, "keys", None) is not None), None)
        window = getattr(layer, "sliding_window", None)
        if layer is not None and window is not None:
            kept = layer.keys.shape[-2]
            if getattr(layer, "cumulative_length", kept) != kept or (getattr(layer, "counts_kept", False) and kept >= window - 1):
                return kept, window
    return None


def _pair(cache: Any) -> tuple[list[Any], Any]:
    """The caches of self-attention and of cross-attention; the layers whose cross-attention has its keys."""
    return [cache.self_attention_cache, cache.cross_attention_cache], sorted(layer for layer, done in cache.is_updated.items() if done)


def _named_pair(cache: Any) -> tuple[list[tuple[Any, Any]], Any]:
    from torch.utils import _pytree  # pyright: ignore[reportMissingImports]

    parts, context = _pair(cache)
    return [(_pytree.GetAttrKey(name), part) for name, part in zip(("self_attention_cache", "cross_attention_cache"), parts)], context


def _restored_pair(parts: Sequence[Any], context: Any) -> Any:
    """The cache of these two, which its own constructor would ask for their sizes; torch also asks for pairs of other things."""
    kind = import_module("transformers.cache_utils").EncoderDecoderCache
    cache = kind.__new__(kind)
    cache.self_attention_cache, cache.cross_attention_cache = parts
    cache.is_updated = dict.fromkeys(context, True)
    return cache
