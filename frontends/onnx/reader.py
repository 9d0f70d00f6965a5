"""Reads models from paths, bytes or protobufs, and checks their operator sets."""
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import onnx
from google.protobuf.message import DecodeError

from legato.core.errors import LegatoError
from legato.frontends.onnx.model_file import read_model_file
from legato.frontends.onnx.problems import Refused
from legato.frontends.onnx.reads import Reads

OLDEST_OPSET = 1
_WITH_OPSETS = 3   # the version of the format from which on models say their operator sets
_OWN_DOMAINS = ("", "ai.onnx")


class ModelSource(NamedTuple):
    """A model as read: the protobuf, its name in messages, the file that its external data lies beside (None: unknown), and the elements
    of initializers that lie in arrays rather than in the protobuf, by name. ``reads``: of such arrays, which are under way; whoever has the
    source finishes them. ``sizes_agree``: the inputs' symbolic sizes are equal at every
    call where they meet in an elementwise op, as whoever wrote the model has made sure."""

    proto: onnx.ModelProto
    label: str
    file: Path | None
    arrays: Mapping[str, np.ndarray] = MappingProxyType({})
    reads: Reads | None = None
    sizes_agree: bool = False


def read_model(model: "str | os.PathLike[str] | bytes | onnx.ModelProto", whole: bool = True) -> ModelSource:
    """Reads a model without its external data. ``whole``: large initializers of a file are in the protobuf, too, not in arrays beside it.
    LegatoError if it cannot be read; TypeError for anything but a path, bytes or a ModelProto."""
    if isinstance(model, onnx.ModelProto):
        return ModelSource(model, f"model '{model.graph.name}'" if model.graph.name else "the model", None)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return ModelSource(_parse(bytes(model), "the model"), "the model", None)
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"from_onnx takes a path, bytes or an onnx.ModelProto, not {type(model).__name__}")
    path = Path(model)
    if path.is_dir():
        raise LegatoError(f"{path} is a folder: name the .onnx file in it")
    try:
        data, reads = (path.read_bytes(), None) if whole else read_model_file(path)
    except OSError as error:
        raise LegatoError(f"cannot read {path}: {error.strerror}") from error
    try:
        proto = _parse(data, str(path))
    except LegatoError:
        if reads is not None:
            reads.finish()
        raise
    return ModelSource(proto, str(path), path, {} if reads is None else reads.arrays, reads)


def _parse(data: bytes, label: str) -> onnx.ModelProto:
    if not data:
        raise LegatoError(f"{label} is empty")
    if data.startswith(b"version https://git-lfs"):
        raise LegatoError(f"{label} is a Git LFS pointer, not the model itself: run 'git lfs pull'")
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except DecodeError as error:
        raise LegatoError(f"{label} is not an ONNX model, or is cut off: {error}") from error
    if not proto.HasField("graph"):
        raise LegatoError(f"{label} is not an ONNX model: it holds no graph")
    return proto


def opset_versions(imports, label: str) -> dict[str, int]:
    """Domain to version, from a model's or function's opset_import; ``ai.onnx`` is ``""``. LegatoError for contradicting or invalid
    versions."""
    versions: dict[str, int] = {}
    for entry in imports:
        domain = canonical_domain(entry.domain)
        if versions.setdefault(domain, entry.version) != entry.version:
            both = f"{versions[domain]} and {entry.version}"
            raise LegatoError(f"{label} imports two versions of the operator set '{domain or 'ai.onnx'}': {both}")
    for domain, version in versions.items():
        if not (0 if domain else 1) <= version < 2**31:
            name = f"the operator set '{domain}'" if domain else "ONNX's operator set"
            raise LegatoError(f"{label} imports version {version} of {name}; versions start at 1" + " and end before 2^31" * (version > 1))
    return versions


def opsets_of(model: onnx.ModelProto, label: str) -> dict[str, int]:
    """Domain to version of a model's operator sets. Before version 3 of the format it does not say them, and has the first of ONNX's."""
    if not model.opset_import and 0 < model.ir_version < _WITH_OPSETS:
        return {"": OLDEST_OPSET}
    return opset_versions(model.opset_import, label)


def with_assumed(versions: Mapping[str, int]) -> dict[str, int]:
    """The versions of a model's operator sets, with those that onnxruntime has for domains which a model uses without saying so."""
    return {"com.microsoft": 1, "ai.onnx.ml": onnx.defs.onnx_ml_opset_version(), **versions}


def check_opset(versions: Mapping[str, int]) -> None:
    """Refused if the version of ONNX's operator set is not supported."""
    version, newest = versions.get("", OLDEST_OPSET), onnx.defs.onnx_opset_version()
    if not OLDEST_OPSET <= version <= newest:
        raise Refused(
            f"it is written for opset {version}; Legato takes those up to {newest}, the newest that the installed onnx "
            f"{onnx.__version__} knows. onnx.version_converter.convert_version can bring a model to another opset"
        )


def canonical_domain(domain: str) -> str:
    """The domain, with ``""`` for all spellings of ONNX's own."""
    return "" if domain in _OWN_DOMAINS else domain
