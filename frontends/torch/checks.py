"""What a PyTorch module must be to be imported: in evaluation mode, without gradients, without effects."""
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import onnx

from legato.core.errors import LegatoError
from legato.core.mlir import func
from legato.dialects.relax.types import TensorType

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]


_NO_MODULE = "_empty_nn_module_stack_from_metadata_hook"     # torch's mark of what no module computes


def name_of(model: object) -> str:
    """The name of a module's class, or of the module that a program was exported from, in messages."""
    import torch  # pyright: ignore[reportMissingImports]

    if isinstance(model, torch.export.ExportedProgram):
        stacks = (node.meta.get("nn_module_stack") for node in model.graph.nodes)
        found = (next(iter(stack.values()))[1] for stack in stacks if stack)
        outermost = next((one for one in found if one != _NO_MODULE), "")
        kind = outermost if isinstance(outermost, str) else outermost.__name__
        return f"the program of {kind.rpartition('.')[2]}" if kind else "the program"
    return type(model).__name__


def check_module(model: object, label: str) -> None:
    """TypeError for anything but a module; LegatoError for one in training mode."""
    import torch  # pyright: ignore[reportMissingImports]

    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"from_torch takes a torch.nn.Module or a torch.export.ExportedProgram, not {label}")
    if isinstance(model, torch.fx.GraphModule) and "eval" in vars(model):
        return   # a program's module(): its graph keeps the mode of the export, and torch refuses its eval()
    training = next((name for name, part in model.named_modules() if part.training), None)
    if training is not None:
        part = f"its module '{training}' is" if training else "it is"
        raise LegatoError(f"{label} cannot be imported: {part} in training mode, and compiled models only infer. Call model.eval() first")


def check_arguments(args: Sequence[Any], kwargs: Mapping[str, Any], label: str) -> None:
    """LegatoError if a tensor among the arguments asks for gradients."""
    import torch  # pyright: ignore[reportMissingImports]

    if isinstance(args, torch.Tensor):
        raise TypeError(f"args is a tuple of the arguments of {label}, not one tensor: write (x,)")
    for name, value in _leaves(tuple(args), dict(kwargs)):
        if isinstance(value, torch.Tensor) and value.requires_grad:
            raise LegatoError(f"{label}: the argument {name} asks for gradients (requires_grad), which compiled models do not compute. "
                              "Give its detach()")


def _leaves(args: tuple, kwargs: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The values in the arguments, and where each is: ``args[0]['mask']``."""
    from torch.utils import _pytree  # pyright: ignore[reportMissingImports]

    for what, tree in (("args", args), ("kwargs", kwargs)):
        for path, value in _pytree.tree_flatten_with_path(tree)[0]:
            yield what + _pytree.keystr(path), value


def check_written(graph: "torch.fx.Graph", label: str) -> None:
    """LegatoError for an op in a program's graph of which the exporter drops an argument: the model that it writes computes another one.
    Most of these are written in terms of others (``decompositions``) where torch lets them."""
    import torch  # pyright: ignore[reportMissingImports]

    aten = torch.ops.aten
    kept: list[tuple[Any, str, Callable[[Any, torch.fx.Node], bool]]] = [    # an argument of an op, and whether it is not dropped
        (aten.avg_pool2d.default, "divisor_override", _among(None)),
        (aten.avg_pool3d.default, "divisor_override", _among(None)),
        *((op, "align_corners", _among(False)) for op in (aten._upsample_bilinear2d_aa.default, aten._upsample_bicubic2d_aa.default)),
        *((op, f"scales_{axis}", _is_of_sizes(place)) for op in (aten._upsample_bilinear2d_aa.default, aten._upsample_bicubic2d_aa.default)
          for place, axis in enumerate("hw")),
        (aten._native_batch_norm_legit.default, "training", _among(False)),
        (aten._native_batch_norm_legit_functional.default, "training", _among(False)),
        (aten.scaled_dot_product_attention.default, "dropout_p", _among(0.0)),
        (aten.scatter_reduce.two, "reduce", _among("sum", "prod", "amin", "amax")),
    ]
    for node in graph.nodes:
        for op, name, keeps in kept:
            if node.target is not op:
                continue
            place = [argument.name for argument in op._schema.arguments].index(name)
            value = node.args[place] if place < len(node.args) else node.kwargs.get(name, op._schema.arguments[place].default_value)
            if not keeps(value, node):
                raise LegatoError(f"{label}: torch's exporter to ONNX drops {name}={value} of '{node.name}' ({op}): the model that it "
                                  "writes computes something else. Write it in terms of other ops")


def _among(*values: Any) -> Callable[[Any, "torch.fx.Node"], bool]:
    return lambda value, node: value in values


def _is_of_sizes(place: int) -> Callable[[Any, "torch.fx.Node"], bool]:
    """Whether the scale of an image's axis is what its sizes say, too."""
    def keeps(value: Any, node: "torch.fx.Node") -> bool:
        image, sizes = node.args[:2]
        if value is None:
            return True
        size, count = image.meta["val"].shape[2 + place], sizes[place]
        return isinstance(size, int) and isinstance(count, int) and size * value == count
    return keeps


def check_effects(program: "torch.export.ExportedProgram", label: str) -> None:
    """LegatoError if the program writes to a buffer or to an input: the exporter drops that."""
    signature = program.graph_signature
    buffers, inputs = sorted(signature.buffers_to_mutate.values()), sorted(signature.user_inputs_to_mutate.values())
    if not buffers and not inputs:
        return
    written = "the buffer" if buffers else "the input"
    raise LegatoError(f"{label} writes to {written} '{(buffers or inputs)[0]}', which would be lost: an imported model has no effects. "
                      "Return the new value as an output, or use torch.compile(model, backend='legato'), which keeps such writes")


def check_results(main: func.FuncOp, outputs: Sequence[onnx.ValueInfoProto], label: str) -> None:
    """LegatoError for a result of main whose rank, or a known size, is not what torch says of it: the exporter made something else of an
    op. ``outputs``: those of the exporter's model, which has torch's sizes."""
    for declared, type_ in zip(outputs, main.type.results, strict=True):
        wanted = [dim.dim_value if dim.HasField("dim_value") else dim.dim_param for dim in declared.type.tensor_type.shape.dim]
        found = list(TensorType.of(type_).dims)
        known = [(a, b) for a, b in zip(wanted, found) if isinstance(a, int) and isinstance(b, int)]
        if declared.type.tensor_type.HasField("shape") and (len(wanted) != len(found) or any(a != b for a, b in known)):
            raise LegatoError(f"{label}: torch's exporter to ONNX makes an output '{declared.name}' of the sizes "
                              f"[{', '.join(map(str, found))}], which is [{', '.join(map(str, wanted))}]: the model that it writes "
                              "computes something else. Write it in terms of other ops, or leave that output out")
