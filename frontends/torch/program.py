"""A program of torch's ONNX exporter as a model whose weights lie in the tensors of the module."""
import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from legato.frontends.onnx.model_file import IN_ARRAY
from legato.frontends.onnx.reader import ModelSource
from legato.frontends.torch.doubles import keep_doubles
from legato.frontends.torch.tensors import shared_array

if TYPE_CHECKING:
    import onnx_ir  # pyright: ignore[reportMissingImports]
    import torch  # pyright: ignore[reportMissingImports]

_SCOPES = "pkg.torch.onnx.name_scopes"   # names of the modules around a node, outermost first, and of its op


def model_source(program: "torch.onnx.ONNXProgram", label: str) -> ModelSource:
    """The program as a protobuf without its tensors, and these as arrays. The program's own model is changed: its nodes get the names of
    their modules, its outputs those of the fields that they are, and its initializers lose their data."""
    import onnx_ir  # pyright: ignore[reportMissingImports]

    model = program.model
    _name_nodes(model)
    _convert_outputs(model, program.exported_program)
    _name_outputs(model, program.exported_program)
    keep_doubles(model)
    arrays = {name: _array(value.const_value) for name, value in model.graph.initializers.items()}
    for name, value in model.graph.initializers.items():
        held = value.const_value
        value.const_value = onnx_ir.ExternalTensor(IN_ARRAY, 0, held.nbytes, held.dtype, shape=held.shape, name=name)
    # torch guards that the sizes of operands are equal, and that none which is 1 has a name
    return ModelSource(onnx_ir.serde.serialize_model(model), label, None, arrays, sizes_agree=True)


def _array(tensor: Any) -> np.ndarray:
    """The elements of an initializer, on the memory of the torch tensor behind it if there is one."""
    import torch  # pyright: ignore[reportMissingImports]

    raw = getattr(tensor, "raw", None)
    return shared_array(raw) if isinstance(raw, torch.Tensor) else tensor.numpy()


def _name_nodes(model: "onnx_ir.Model") -> None:
    """Names nodes after the innermost module that they come from and its op there: ``encoder.norm/layer_norm``."""
    for node in model.graph.all_nodes():
        scopes = ast.literal_eval(node.metadata_props.get(_SCOPES, "[]"))
        if scopes and scopes[0].startswith("_empty_nn_module_stack"):   # an op that torch added, as for a size
            scopes = scopes[-1:]
        if scopes:
            node.name = "/".join(name for name in scopes[-2:] if name)


def _name_outputs(model: "onnx_ir.Model", program: "torch.export.ExportedProgram") -> None:
    """Names outputs after the keys and fields that lead to them: ``logits``, ``past_key_values.0``. An output that is an input, too, or
    a second time an output, keeps the exporter's name."""
    taken = {value.name for value in [*model.graph.inputs, *model.graph.initializers.values()]}
    taken |= {value.name for node in model.graph.all_nodes() for value in node.outputs}
    outputs = model.graph.outputs
    names = [name for name, value in _leaves_of_result(program) if value is not None]
    if len(names) != len(outputs):   # the result has numbers or the like, which are no outputs
        return
    for name, value in zip(names, outputs):
        if name and name not in taken and value.producer() is not None and sum(value is other for other in outputs) == 1:
            value.name = name
            taken.add(name)


def _convert_outputs(model: "onnx_ir.Model", program: "torch.export.ExportedProgram") -> None:
    """Rounds outputs to the types of the program's results. The exporter takes what stands before a conversion that it has added itself:
    sums of halves in floats."""
    import onnx_ir  # pyright: ignore[reportMissingImports]
    import torch  # pyright: ignore[reportMissingImports]

    types = {torch.float16: onnx_ir.DataType.FLOAT16, torch.bfloat16: onnx_ir.DataType.BFLOAT16}
    given = [node for node in program.graph.output_node().args[0] if isinstance(node, torch.fx.Node)]
    outputs = model.graph.outputs
    if len(given) != len(outputs):   # some are no tensors
        return
    for number, (node, value) in enumerate(zip(given, outputs)):
        dtype = types.get(getattr(node.meta.get("val"), "dtype", None))
        if dtype is not None and value.dtype == onnx_ir.DataType.FLOAT:
            cast = onnx_ir.node("Cast", [value], {"to": dtype.value})
            model.graph.append(cast)
            rounded = cast.outputs[0]
            rounded.name, rounded.dtype, rounded.shape = f"{value.name}_rounded", dtype, value.shape
            outputs[number] = rounded


def _leaves_of_result(program: "torch.export.ExportedProgram") -> Iterator[tuple[str, Any]]:
    """The names of the result's leaves by keys and fields, empty where there is none, and the program's own names; None if a leaf is no
    tensor."""
    from torch.utils import _pytree  # pyright: ignore[reportMissingImports]

    leaves = program.graph_signature.user_outputs
    tree = _pytree.tree_unflatten(list(range(len(leaves))), program.call_spec.out_spec)
    for path, number in _pytree.tree_flatten_with_path(tree)[0]:
        keys = [getattr(key, "key", getattr(key, "name", getattr(key, "idx", ""))) for key in path]
        named = any(not isinstance(key, int) for key in keys)
        yield (".".join(map(str, keys)) if named else ""), leaves[number] if isinstance(leaves[number], str) else None
