"""The artifacts of a saved model: an uncompressed zip file beside it, with ``manifest.json`` and the bytes of each artifact.

The model's code contains a digest of the file, so that the two cannot be mixed up, and the file's name a part of it.
"""
from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from legato.core.errors import LegatoError
from legato.runtime.packed import Artifacts
from legato.runtime.signature import dtype_of

FORMAT = 2   # 2: a state and weights of blobs


def check_savable(artifacts: Artifacts) -> None:
    """LegatoError, naming it, if one of them is a function of this process."""
    for artifact in artifacts:
        if artifact["kind"] == "closure":
            function = next(iter(artifact["calls"].values()))
            name = getattr(function, "__qualname__", repr(function))
            raise LegatoError(f"the model cannot be saved: for the backend '{artifact['backend']}' it calls {name}, a Python function of "
                              "this process. Code generation can give what is saved instead: a PythonFunction, a Blob, a SharedObject")


def write(path: Path, artifacts: Artifacts, weights: Collection[str] = ()) -> bytes:
    """Writes the file, of the same bytes for the same artifacts. Returns its digest (16 bytes). ``weights``: the keys in the weights' file
    beside it; others that artifacts use are written here, once each."""
    manifest: dict[str, Any] = {"format": FORMAT, "artifacts": []}
    members: dict[str, str] = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for number, artifact in enumerate(artifacts):
            entry = dict(artifact)
            if "data" in entry:
                member = f"{number}.{artifact['backend']}"
                file.writestr(zipfile.ZipInfo(member), memoryview(np.ascontiguousarray(entry["data"])))
                entry["data"] = member
            if keys := entry.pop("keys", None):
                arrays, entry["weights"] = entry["weights"], {}
                for name, key in keys.items():
                    array = arrays[name]
                    member = None if key in weights else members.get(key)
                    if key not in weights and member is None:
                        member = members[key] = f"weight.{len(members)}"
                        file.writestr(zipfile.ZipInfo(member), array.reshape(-1).view(np.uint8).data)
                    entry["weights"][name] = {"key": key, "member": member, "dtype": str(array.dtype), "shape": list(array.shape)}
            manifest["artifacts"].append(entry)
        file.writestr(zipfile.ZipInfo("manifest.json"), json.dumps(manifest, sort_keys=True))   # ZipInfo: a fixed date, not today's
    with open(path, "rb") as file:
        return _digest(file)


def _digest(file: IO[bytes]) -> bytes:
    return hashlib.file_digest(file, "sha256").digest()[:16]


def read(path: Path, digest: bytes, weights: Mapping[str, np.ndarray]) -> list[Mapping[str, Any]]:
    """The artifacts in a file. ``weights``: those of the weights' file beside it, by key. The file's digest is compared first, since some
    artifacts are code. LegatoError if the file is missing, damaged, another model's, or of a newer Legato."""
    try:
        stream = open(path, "rb")
    except FileNotFoundError:
        raise LegatoError(f"the parts of the model that backends made are missing: there is no file {path}. It was saved beside the model: "
                          "copy it too") from None
    except OSError as error:
        raise LegatoError(f"cannot read {path}, the parts of the model that backends made: {error.strerror}") from error
    with stream:
        if _digest(stream) != digest:
            raise LegatoError(f"{path}, the parts of the model that backends made, was changed after it was saved, or is that of another "
                              "model or of another compile of this one: save the model again, or copy the file that was saved with it")
        with zipfile.ZipFile(stream) as file:
            manifest = json.loads(file.read("manifest.json"))
            if manifest["format"] > FORMAT:
                raise LegatoError(f"{path} was made by a newer Legato: it has format {manifest['format']}, this version reads {FORMAT}")
            members: dict[str, bytes] = {}
            return [_entry(entry, file, members, weights) for entry in manifest["artifacts"]]


def _entry(entry: dict[str, Any], file: zipfile.ZipFile, members: dict[str, bytes], weights: Mapping[str, np.ndarray]) -> Mapping[str, Any]:
    """An entry of the manifest with its bytes and its weights, each of which is read once: ``members``."""
    found = dict(entry)
    if "data" in entry:
        found["data"] = np.frombuffer(file.read(entry["data"]), np.uint8)
    if "weights" in entry:
        found["weights"], found["keys"] = {}, {name: one["key"] for name, one in entry["weights"].items()}
    for name, one in entry.get("weights", {}).items():
        member = one["member"]
        if member is not None and member not in members:
            members[member] = file.read(member)
        found["weights"][name] = weights[one["key"]] if member is None else np.frombuffer(
            members[member], dtype_of(one["dtype"])).reshape(one["shape"])
    return found
