"""The artifacts of a saved model: an uncompressed zip file beside it, with ``manifest.json`` and the bytes of each artifact.

The model's code contains a digest of the file, so that the two cannot be mixed up, and the file's name a part of it.
"""
from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

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
    """Writes the file, of the same bytes for the same artifacts. Returns its digest (16 bytes)."""
    manifest: dict[str, Any] = {"format": FORMAT, "artifacts": []}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for number, artifact in enumerate(artifacts):
            entry = dict(artifact)
            if "data" in entry:
                member = f"{number}.{artifact['backend']}"
                file.writestr(zipfile.ZipInfo(member), memoryview(np.ascontiguousarray(entry["data"])))
                entry["data"] = member
            manifest["artifacts"].append(entry)
        file.writestr(zipfile.ZipInfo("manifest.json"), json.dumps(manifest, sort_keys=True))   # ZipInfo: a fixed date, not today's
    with open(path, "rb") as file:
        return _digest(file)


def _digest(file: IO[bytes]) -> bytes:
    return hashlib.file_digest(file, "sha256").digest()[:16]


def read(path: Path, digest: bytes) -> list[Mapping[str, Any]]:
    """The artifacts in a file. Its digest is compared first, since some artifacts are code. LegatoError if the file is missing, damaged,
    another model's, or of a newer Legato."""
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
            found = []
            for entry in manifest["artifacts"]:
                found.append({**entry, "data": np.frombuffer(file.read(entry["data"]), np.uint8)} if "data" in entry else entry)
    return found
