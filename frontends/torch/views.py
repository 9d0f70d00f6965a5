"""Views among the results of graphs of torch.compile: torch makes them at each call, of their bases."""
import operator
from collections.abc import Callable, Iterator

import torch  # pyright: ignore[reportMissingImports]

SizeOf = Callable[[torch.fx.Node], int]   # the value of a size in a call


def base_of(node: torch.fx.Node) -> torch.fx.Node:
    """The node that a result is a view of; the result itself if it is none.

    AOTAutograd reads the strides and the offset of such results, to make a user's view of an argument, or of another result.
    """
    while _is_view(node):
        node = _op(node).args[0]
    return node


def sizes_of(node: torch.fx.Node, base: torch.fx.Node) -> Iterator[torch.fx.Node]:
    """The sizes by which a node is a view of its base."""
    while node is not base:
        source, *sizes = _op(node).all_input_nodes
        yield from sizes
        node = source


def view_of(node: torch.fx.Node, base: torch.fx.Node, tensor: torch.Tensor, size_of: SizeOf) -> torch.Tensor:
    """The view that a node is, of the tensor that its base is in this call."""
    if node is base:
        return tensor
    op = _op(node)
    args, kwargs = torch.fx.map_arg((op.args[1:], op.kwargs), size_of)
    made = op.target(view_of(op.args[0], base, tensor, size_of), *args, **kwargs)
    return made if op is node else made[node.args[1]]


def _op(node: torch.fx.Node) -> torch.fx.Node:
    """The op that makes a tensor, alone or among others."""
    return node.args[0] if node.target is operator.getitem else node


def _is_view(node: torch.fx.Node) -> bool:
    """Whether a node is a view of another that is no constant, in the same element type: a model has no complex numbers."""
    op = _op(node)
    if not isinstance(op.target, torch._ops.OpOverload) or not op.target.is_view:
        return False
    source, *sizes = op.all_input_nodes
    return (source is op.args[0] and source.op != "get_attr" and source.meta["val"].dtype == node.meta["val"].dtype
            and all(isinstance(size.meta["val"], torch.SymInt) for size in sizes))
