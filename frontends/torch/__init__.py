"""The PyTorch importer: ``from_torch``, through torch's ONNX exporter in memory."""
import logging
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from legato.core.errors import LegatoError
from legato.dialects.module import Module
from legato.frontends.onnx import import_model
from legato.frontends.onnx.entry import Entry
from legato.frontends.torch.arguments import told_apart
from legato.frontends.torch.axes import name_axes
from legato.frontends.torch.caches import register_caches
from legato.frontends.torch.checks import check_arguments, check_effects, check_module, check_results, name_of
from legato.frontends.torch.constant_results import constant_results
from legato.frontends.torch.entries import ENTRIES
from legato.frontends.torch.exporter import exported
from legato.frontends.torch.guards import fix_sizes, name_sizes, require_guards
from legato.frontends.torch.installed import torch_packages
from legato.frontends.torch.program import model_source
from legato.frontends.torch.signature import TorchSignature

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]

LOGGER = logging.getLogger(__name__)

__all__ = ["from_torch"]


def from_torch(
    model: "torch.nn.Module | torch.export.ExportedProgram",
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Mapping[str, Any] | Sequence[Any] | None = None,
    context: Any = None,   # an ir.Context, which the bindings' stubs do not have
    entries: Sequence[Entry] = (),
) -> Module:
    """Imports a PyTorch module, or a program of ``torch.export``, as a relax function ``main`` with its weights.

    ``args``, ``kwargs``: example arguments of ``model.forward``; a program of ``torch.export`` needs none. ``dynamic_shapes``: as
    ``torch.export`` takes it, with names, ``torch.export.Dim`` or ``Dim.AUTO`` for sizes that calls may change (``({0: "batch"},)``);
    without it all sizes are those of the examples. ``context``, ``entries``: as for ``from_onnx``.

    The inputs are the tensors of the arguments, flattened in order; other arguments (numbers, flags, None) are constants of the import.
    The outputs are the tensors of the result, flattened in order; those of dicts and dataclasses have the names of their fields. Weights
    share the memory of the module's parameters where these are contiguous and on the CPU: changes of the parameters after the import may
    or may not be seen. Ops have the names of the modules that they come from (``encoder.layers.0.norm1/layer_norm``).

    LegatoError: torch or onnxscript is missing; the module is in training mode, an argument asks for gradients, the module writes to its
    buffers or inputs, or torch cannot export it. UnsupportedError lists all ops that Legato cannot import.
    """
    return import_torch(model, args, kwargs, dynamic_shapes=dynamic_shapes, context=context, entries=entries)[0]


def import_torch(
    model: "torch.nn.Module | torch.export.ExportedProgram",
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Mapping[str, Any] | Sequence[Any] | None = None,
    context: Any = None,
    entries: Sequence[Entry] = (),
) -> tuple[Module, TorchSignature]:
    """``from_torch``, and how the module is called."""
    torch = torch_packages()
    label = name_of(model)
    register_caches()
    is_program = isinstance(model, torch.export.ExportedProgram)
    if is_program and (args or kwargs or dynamic_shapes):
        raise LegatoError(f"{label} has been exported with its arguments and shapes already: give from_torch the program alone")
    if not is_program:
        check_module(model, label)
        check_arguments(args, kwargs or {}, label)
        args, kwargs = told_apart(model, args, kwargs or {})
    with nullcontext({}) if is_program else constant_results(model) as constants:
        program = exported(model, label, args, kwargs, dynamic_shapes)
    check_effects(program.exported_program, label)
    if dynamic_shapes and not is_program:
        name_axes(program, model, args, kwargs or {}, dynamic_shapes)
    fix_sizes(program)
    name_sizes(program)
    signature = TorchSignature.of(program, model, label, constants)
    source = model_source(program, label)
    LOGGER.info("%s: exported as %d nodes and %d weights", label, len(source.proto.graph.node), len(source.arrays))
    names = [value.name for value in source.proto.graph.input]
    module = import_model(source, context=context, entries=[*ENTRIES, *entries])
    with module.context:
        check_results(module.function(), source.proto.graph.output, label)
        require_guards(module.function(), program.exported_program, names, label)
    return module, signature
