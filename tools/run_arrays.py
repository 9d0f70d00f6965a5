"""The arrays of legato-run's --input and --save: one each in .npy files, or by name in one .npz."""
from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from legato.core.errors import LegatoError
from legato.tools.errors import UsageError

FORMS = "NAME=FILE.npy|FILE.npz"
OF_OTHERS = 2   # numpy's isbuiltin of types that other packages define


def name_and_file(option: str, text: str) -> tuple[str | None, str]:
    """Splits NAME=FILE.npy; the name is None for FILE.npz. UsageError if ``text`` has another form."""
    name, equals, file = text.rpartition("=")
    if not equals and file.endswith(".npz"):
        return None, file
    if not equals or not name or not file:
        raise UsageError(f"{option} {text}: write {option} NAME=FILE.npy, or {option} FILE.npz for all in one file")
    return name, file


def read_arrays(requests: Sequence[str]) -> dict[str, Any]:
    """The arrays of --input, by name. LegatoError for a missing file, or one without arrays of numbers."""
    arrays: dict[str, Any] = {}
    for text in requests:
        name, file = name_and_file("--input", text)
        if not Path(file).is_file():
            raise LegatoError(f"--input {text}: there is no file '{file}'")
        try:
            arrays.update(_arrays(name, file, text))
        except (ValueError, EOFError, OSError) as error:
            raise LegatoError(f"--input {text}: '{file}' holds no array of numbers that numpy.save or numpy.savez wrote") from error
    return arrays


def in_types(arrays: Mapping[str, Any], parameters: Sequence[Any]) -> dict[str, Any]:
    """The arrays, with the element types of their parameters where numpy does not have these: its files keep the bytes alone."""
    types = {one.name: one.dtype for one in parameters}
    return {name: array.view(types[name]) if array.dtype.kind == "V" and name in types and array.itemsize == types[name].itemsize else array
            for name, array in arrays.items()}


def _arrays(name: str | None, file: str, text: str) -> Iterator[tuple[str, Any]]:
    import numpy as np

    found = np.load(file)
    if isinstance(found, np.ndarray):
        if name is None:
            raise LegatoError(f"--input {text}: '{file}' holds one array, and no name; write --input NAME={file}")
        yield name, found
    elif name is not None:
        raise LegatoError(f"--input {text}: '{file}' holds several arrays, which have names; write --input {file}")
    else:
        yield from found.items()


def save_arrays(files: Sequence[tuple[str | None, str]], outputs: Mapping[str, Any]) -> None:
    """Writes outputs, by name; ``files``: (output's name, .npy file), or (None, .npz file) for all of them."""
    import numpy as np

    for name, file in files:
        if name is not None:
            np.save(file, _writable(outputs[name]))
            continue
        with zipfile.ZipFile(file, "w") as archive:     # numpy.savez has names of its own that an output may have, such as "file"
            for output, value in outputs.items():
                with archive.open(f"{output}.npy", "w", force_zip64=True) as entry:
                    np.lib.format.write_array(entry, _writable(value))


def _writable(value: Any) -> Any:
    """An array that numpy reads back: one of a type that numpy does not have as its bytes."""
    import numpy as np

    array = np.asarray(value)
    return array.view(f"V{array.itemsize}") if array.dtype.isbuiltin == OF_OTHERS else array
