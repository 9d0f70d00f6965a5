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


def write_ir(path: str | Path, text: str | bytes, weights: WeightStore) -> list[Path]:
    """Writes a file of IR, text or bytecode, and its weights beside it if there are any, else removes those of an earlier one. Returns the
    files written. LegatoError, and nothing is written, if a file of the weights' name is there that this function did not write."""
    path, file = Path(path), weights_file(path)
    is_ours = file.exists() and _is_ours(file)
    if len(weights) and file.exists() and not is_ours:
        raise LegatoError(f"cannot write {path} with its weights: they would replace {file}, which Legato did not write. Give another name")
    path.write_text("")   # a kill between the two files must not leave a text beside the weights of another
    if len(weights):
        safetensors_file.write(file, weights, metadata=_MARK)
    elif is_ours:
        file.unlink()
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return [path, file] if len(weights) else [path]


def remove_ir(path: str | Path) -> None:
    """Removes a file of IR, and its weights if ``write_ir`` wrote them."""
    Path(path).unlink()
    file = weights_file(path)
    if file.exists() and _is_ours(file):
        file.unlink()


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
