"""``as_strided`` in graphs of torch: it counts elements in memory, where ONNX, and so torch's exporter, counts them by axes."""
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from legato.core.errors import LegatoError

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]


def order_memory(graph: "torch.fx.Graph", label: str) -> bool:
    """Has ``as_strided`` read its tensor with the axes in the order of the memory, where they are not. Whether there are such. LegatoError
    where it reads what lies beside the tensor's elements in memory."""
    import torch  # pyright: ignore[reportMissingImports]

    aten = torch.ops.aten
    found = False
    for node in list(graph.nodes):
        if node.op != "call_function" or node.target not in (aten.as_strided.default, aten.as_strided_copy.default):
            continue
        source = node.args[0]
        fake, order = source.meta["val"], memory_order(source.meta["val"])
        if order is None or _number(fake.storage_offset()) or _end(*node.args[1:], **node.kwargs) > prod(map(_number, fake.shape)):
            raise LegatoError(f"{label} cannot be imported: its as_strided reads memory beside the elements of its tensor, of the sizes "
                              f"{list(fake.shape)}, strides {list(fake.stride())} and offset {fake.storage_offset()}. Give it a tensor of "
                              "all that it reads: x.contiguous()")
        if order == list(range(fake.ndim)):
            continue
        with graph.inserting_before(node):
            ordered = graph.call_function(aten.permute.default, (source, order))
            ordered.meta["val"] = fake.permute(order)
        node.replace_input_with(source, ordered)
        found = True
    return found


def memory_order(fake: "torch.Tensor") -> list[int] | None:
    """The axes of a dense tensor in the order of its memory; None if it is not dense."""
    sizes, strides = ([_number(x) for x in axes] for axes in (fake.shape, fake.stride()))
    if 0 in sizes:
        return list(range(len(sizes)))
    order = sorted(range(len(sizes)), key=lambda axis: (-strides[axis], axis))
    count = 1
    for axis in reversed(order):
        if strides[axis] != count and sizes[axis] != 1:
            return None
        count *= sizes[axis]
    return order


def in_order(order: Sequence[int] | None, tensor: "torch.Tensor") -> "torch.Tensor":
    """The same elements with the axes in memory in this order, or, of None, as they are."""
    if order is None:
        return tensor
    return tensor.permute(list(order)).contiguous().permute([order.index(axis) for axis in range(len(order))])


def _end(size: Any, stride: Any, storage_offset: Any = None) -> int:
    """The place behind the last element that is read; 0 where none is."""
    sizes, strides = [_number(x) for x in size], [_number(x) for x in stride]
    last = sum((count - 1) * step for count, step in zip(sizes, strides))
    return 0 if 0 in sizes else _number(storage_offset or 0) + last + 1


def _number(size: Any) -> int:
    """A size, or that of the example, in which a symbol that only data gives is a number of its own."""
    size = size.meta["val"] if hasattr(size, "meta") else size
    if isinstance(size, int):
        return size
    if size.node.hint is not None:
        return int(size.node.hint)
    return example_of(size.node.expr, size.node.shape_env)


def example_of(expression: Any, environment: Any) -> int:
    """The value of a size in terms of symbols, likewise."""
    known = environment.backed_var_to_val if hasattr(environment, "backed_var_to_val") else environment.var_to_val   # before torch 2.14
    return int(expression.xreplace({symbol: known.get(symbol, 4099 + int(str(symbol).strip("zus"))) for symbol in expression.free_symbols}))
