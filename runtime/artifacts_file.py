"""The artifacts of a saved model: an uncompressed zip file beside it, with ``manifest.json`` and the bytes of each artifact.

The model's ``.so`` contains a digest of the file, so that the two cannot be mixed up.
"""
from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from legato.core.errors import LegatoError
from legato.runtime.packed import Artifacts

FORMAT = 1


def check_savable(artifacts: Artifacts) -> None:
    """LegatoError, naming it, if one of them is a function of this process."""
    for artifact in artifacts:
        if artifact["kind"] == "closure":
            function = next(iter(artifact["calls"].values()))
            name = getattr(function, "__qualname__", repr(function))
            raise LegatoError(f"the model cannot be saved: for the backend '{artifact['backend']}' it calls {name}, a Python function of "
                              "this process. Code generation can give what is saved instead: a PythonFunction, a Blob, a SharedObject")


def write(path: Path, artifacts: Artifacts) -> bytes:
    """Writes the file. Returns its digest (16 bytes)."""
    manifest: dict[str, Any] = {"format": FORMAT, "artifacts": []}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for number, artifact in enumerate(artifacts):
            entry = dict(artifact)
            if "data" in entry:
                member = f"{number}.{artifact['backend']}"
                file.writestr(member, memoryview(np.ascontiguousarray(entry["data"])))
                entry["data"] = member
            manifest["artifacts"].append(entry)
        file.writestr("manifest.json", json.dumps(manifest))
    return _digest(path)


def _digest(path: Path) -> bytes:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()


def read(path: Path, digest: bytes | None) -> list[Mapping[str, Any]]:
    """The artifacts in a file. LegatoError if it is missing, damaged, another model's (unless ``digest`` is None), or of a newer
    Legato."""
    if not path.is_file():
        raise LegatoError(f"the parts of the model that backends made are missing: there is no file {path}. It was saved beside the model: "
                          "copy it too")
    try:
        with zipfile.ZipFile(path) as file:
            manifest = json.loads(file.read("manifest.json"))
            if manifest["format"] > FORMAT:
                raise LegatoError(f"{path} was made by a newer Legato: it has format {manifest['format']}, this version reads {FORMAT}")
            found = []
            for entry in manifest["artifacts"]:
                found.append({**entry, "data": np.frombuffer(file.read(entry["data"]), np.uint8)} if "data" in entry else entry)
    except (zipfile.BadZipFile, KeyError, json.JSONDecodeError) as error:
        raise LegatoError(f"{path}, the parts of the model that backends made, is damaged: {error}") from error
    if digest is not None and _digest(path) != digest:
        raise LegatoError(f"{path}, the parts of the model that backends made, was changed after it was saved, or is that of another model "
                          "or of another compile of this one: save the model again, or copy the file that was saved with it")
    return found
