"""The weights of a file of IR, in a file beside it: ``x.mlir.safetensors`` for ``x.mlir``.

The name is made of the whole name of the IR's file, so that two stages of one model (``m.relax``, ``m.fused``) have weights of their own,
and ``model.mlir`` leaves the ``model.safetensors`` of a download alone. A file of that name is replaced only if its metadata say that it
was written here.
"""
from pathlib import Path

from legato.core import safetensors_file
from legato.core.errors import LegatoError
from legato.core.weights import WeightStore

_MARK = {"legato": "weights of the IR in the file of this name without .safetensors"}


def weights_file(path: str | Path) -> Path:
    """The weights' file of a file of IR."""
    path = Path(path)
    return path.with_name(path.name + ".safetensors")


def check_replaceable(path: str | Path) -> None:
    """LegatoError if the weights' file of a file of IR exists, and was not written by ``save_beside``."""
    file = weights_file(path)
    if file.exists() and not _is_ours(file):
        raise LegatoError(f"cannot write {path} with its weights: they would replace {file}, which Legato did not write. Give another name")


def save_beside(path: str | Path, weights: WeightStore) -> Path | None:
    """Writes the weights of a file of IR, and returns their file; None, and an earlier file of that name is removed, if there are no
    weights. LegatoError if the file that would be replaced was not written by this function."""
    file = weights_file(path)
    if len(weights):
        check_replaceable(path)
        safetensors_file.write(file, weights, metadata=_MARK)
        return file
    if file.exists() and _is_ours(file):
        file.unlink()
    return None


def load_beside(path: str | Path) -> WeightStore | None:
    """The weights of a file of IR, mapped at their first read; None if it has no such file."""
    file = weights_file(path)
    return WeightStore.load(file) if file.is_file() else None


def where_looked(path: str | Path) -> str:
    """Completes "the weight is missing ..." for a file of IR."""
    file, former = weights_file(path), Path(path).with_suffix(".safetensors")
    if file.is_file():
        return f"in {file}"
    hint = f" ({former} is the name that older versions gave: if it holds the weights, rename it)" if former.is_file() else ""
    return f"because there is no {file}{hint}"


def _is_ours(file: Path) -> bool:
    try:
        return safetensors_file.read_metadata(file) == _MARK
    except (LegatoError, OSError):
        return False
