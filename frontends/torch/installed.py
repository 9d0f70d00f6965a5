"""The packages of the extra ``torch``."""
from importlib import import_module
from typing import Any

from legato.core.errors import LegatoError


def torch_packages() -> Any:
    """The module ``torch``. LegatoError if it or another package that its ONNX exporter needs is missing."""
    for package, name in (("torch", "PyTorch"), ("onnxscript", "the package onnxscript, which torch's ONNX exporter needs")):
        try:
            import_module(package)
        except ModuleNotFoundError as error:
            if error.name != package:
                raise
            raise LegatoError(f"{name} is not installed: pip install 'legato[torch]'") from None
    return import_module("torch")
