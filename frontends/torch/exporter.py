"""Runs torch's ONNX exporter, which takes apart what it lacks by Legato's ``decompositions``, too."""
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from legato.core.errors import LegatoError
from legato.frontends.torch.checks import check_written
from legato.frontends.torch.doubles import double_constants
from legato.frontends.torch.failures import reason
from legato.frontends.torch.size_operators import size_operators
from legato.frontends.torch.strided import order_memory

if TYPE_CHECKING:
    import torch  # pyright: ignore[reportMissingImports]

_alone = threading.RLock()   # exports change what torch's exporter decomposes by


def exported(model: "torch.nn.Module | torch.export.ExportedProgram", label: str, args: Sequence[Any] = (),
             kwargs: Mapping[str, Any] | None = None, dynamic_shapes: Any = None) -> "torch.onnx.ONNXProgram":
    """The module or program as an ONNX program whose initializers are the tensors of the module. LegatoError with torch's reason if it
    cannot be exported."""
    import torch  # pyright: ignore[reportMissingImports]

    from legato.frontends.torch.kernels import own_kernels
    from legato.frontends.torch.plain_recurrent import recurrent_translations

    translations = size_operators() | recurrent_translations()
    options: dict[str, Any] = {"dynamo": True, "optimize": False, "verbose": False, "custom_translation_table": translations}
    # with gradients, torch computes attention otherwise
    with warnings.catch_warnings(), torch.no_grad(), _decomposing(), own_kernels():
        warnings.simplefilter("ignore", FutureWarning)   # of torch about its own use of itself
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.filterwarnings("ignore", "Exporting a model while it is in training mode", UserWarning)   # check_module knows better
        warnings.filterwarnings("ignore", "# ", UserWarning)   # of axes that the exporter does not name; name_axes does
        try:
            # without keyword arguments, the exporter takes a dict that ends the positional ones for them
            program = torch.onnx.export(model, (*args, {}) if not kwargs else tuple(args), kwargs=dict(kwargs or {}),
                                        dynamic_shapes=dynamic_shapes, **options)
            check_written(program.exported_program.graph, label)
            if order_memory(program.exported_program.graph, label):
                program.exported_program.graph_module.recompile()
                program = torch.onnx.export(program.exported_program, **options)
            return program
        except torch.onnx.errors.OnnxExporterError as error:
            raise LegatoError(f"torch cannot export {label} to ONNX: {reason(error)}") from error


@contextmanager
def _decomposing() -> Iterator[None]:
    """Adds Legato's decompositions to those of torch's exporter. It has no option for them: an exporter that is made otherwise does
    without."""
    from legato.frontends.torch.decompositions import decompositions, joined

    try:
        from torch.onnx._internal.exporter import _decomp  # pyright: ignore[reportMissingImports]
        of_torch = _decomp.create_onnx_friendly_decomposition_table
    except (ImportError, AttributeError):
        yield
        return
    with _alone, double_constants():
        _decomp.create_onnx_friendly_decomposition_table = lambda registered: joined(decompositions(), of_torch(registered))
        try:
            yield
        finally:
            _decomp.create_onnx_friendly_decomposition_table = of_torch
