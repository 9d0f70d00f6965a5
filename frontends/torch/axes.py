"""The names that users give to sizes: ``dynamic_shapes`` beside the arguments."""
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]


def name_axes(program: "torch.onnx.ONNXProgram", model: "torch.nn.Module", args: Sequence[Any], kwargs: Mapping[str, Any],
              dynamic_shapes: Mapping[str, Any] | Sequence[Any]) -> None:
    """Gives the sizes of the program's inputs the names that ``dynamic_shapes`` has for them; the exporter does so only where all
    arguments are tensors."""
    given = {**inspect.signature(model.forward).bind_partial(*args).arguments, **kwargs}   # the order of the program's inputs
    if isinstance(dynamic_shapes, Mapping):
        dynamic_shapes = [dynamic_shapes.get(name) for name in given]
    inputs = program.model.graph.inputs
    specs = [spec for value, spec in zip(given.values(), dynamic_shapes) for spec in _tensors(value, spec)]
    if len(specs) != len(inputs):   # an argument that the program does not read
        return
    names: dict[str, str] = {}
    for value, spec in zip(inputs, specs):
        for axis, name in _named(spec):
            size = value.shape[axis]
            if not isinstance(size, int) and size.value is not None:
                names.setdefault(size.value, name)
    program.rename_axes({old: name for old, name in names.items() if old != name})


def _named(spec: Any) -> Iterator[tuple[int, str]]:
    """The axes of one tensor that have a name, by a text or a torch.export.Dim."""
    axes = spec.items() if isinstance(spec, Mapping) else enumerate(spec or ())
    for axis, size in axes:
        name = size if isinstance(size, str) else getattr(size, "__name__", None)
        if name:
            yield axis, name


def _tensors(value: Any, spec: Any) -> Iterator[Any]:
    """What ``dynamic_shapes`` says of each tensor in an argument, in the order of torch's pytree."""
    import torch  # pyright: ignore[reportMissingImports]
    from torch.utils import _pytree  # pyright: ignore[reportMissingImports]

    if isinstance(value, torch.Tensor):
        yield spec
    elif type(value) in _pytree.SUPPORTED_NODES:
        children = list(_pytree.SUPPORTED_NODES[type(value)].flatten_fn(value)[0])
        if isinstance(value, Mapping) and isinstance(spec, Mapping):
            specs = [spec.get(key) for key in value]
        else:
            specs = list(spec.values() if isinstance(spec, Mapping) else spec or ())
        for child, inner in zip(children, specs if len(specs) == len(children) else [None] * len(children)):
            yield from _tensors(child, inner)
