"""Results of a module that are no tensors, which torch's exporter to ONNX takes for nodes of the graph."""
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]


@contextmanager
def constant_results(model: "torch.nn.Module") -> Iterator[dict[int, Any]]:
    """While this lasts, the numbers, flags and texts among a module's results are None, which the exporter leaves out. Gives a dict that
    each call of the module fills with them, by their place among the leaves of the result."""
    from torch.utils import _pytree  # pyright: ignore[reportMissingImports]

    found: dict[int, Any] = {}

    def take(_module: Any, _args: Any, result: Any) -> Any:
        leaves, tree = _pytree.tree_flatten(result)
        found.clear()
        found.update((place, leaf) for place, leaf in enumerate(leaves) if type(leaf) in (bool, int, float, str))
        return _pytree.tree_unflatten([None if place in found else leaf for place, leaf in enumerate(leaves)], tree) if found else None

    hook = model.register_forward_hook(take)
    try:
        yield found
    finally:
        hook.remove()
