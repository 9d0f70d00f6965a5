"""Example arguments as torch.export takes them."""
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]


def told_apart(model: "torch.nn.Module", args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, each tensor an object of its own. torch.export knows values by their tensors: of one that is given for two
    arguments, or is a buffer of the module too, it reads the last place only, and ignores the others."""
    import torch  # pyright: ignore[reportMissingImports]
    from torch.utils import _pytree  # pyright: ignore[reportMissingImports]

    leaves, spec = _pytree.tree_flatten((tuple(args), dict(kwargs)))
    seen = {id(tensor) for tensor in (*model.parameters(), *model.buffers())}
    for place, leaf in enumerate(leaves):
        if isinstance(leaf, torch.Tensor):
            leaves[place] = leaf.detach() if id(leaf) in seen else leaf
            seen.add(id(leaf))
    return _pytree.tree_unflatten(leaves, spec)
