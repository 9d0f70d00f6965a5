"""What a case of mutated input can end in."""
import os
import pickle
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import legato

T = TypeVar("T")
FOLDER = "LEGATO_FUZZ_FOLDER"   # of what the workers of one run share
SOURCES = Path(legato.__file__).resolve().parent
BLAMES_US = ("internal error", "bug in legato", "please report")


@dataclass(frozen=True)
class Finding:
    """``kind``: "signal", "hang", "exception", "internal error" or "wrong result"; ``text``: what was seen."""

    kind: str
    text: str
    place: str = ""


def exception(error: BaseException) -> Finding:
    """The finding that an exception is which is none of Legato's own."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if str(Path(f.filename).resolve()).startswith(str(SOURCES.parent)) and "/test/" not in f.filename
           and "site-packages" not in f.filename]
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno} {own[-1].name}" if own else ""
    return Finding("exception", f"{type(error).__name__}: {str(error)[:400]}", place)


def stranger(error: BaseException) -> Finding | None:
    """The finding that an error of Legato's is which calls itself a bug."""
    text = str(error)
    return Finding("internal error", text[:400]) if any(word in text.lower() for word in BLAMES_US) else None


def shared(name: str, make: Callable[[], T]) -> T:
    """What ``make`` returns, made once for all workers of a run, which share a folder, or once in a process."""
    folder = os.environ.get(FOLDER)
    if folder is None:
        return make()
    file = Path(folder) / name
    if not file.exists():
        part = file.with_suffix(f".{os.getpid()}")
        part.write_bytes(pickle.dumps(make()))
        part.replace(file)
    return pickle.loads(file.read_bytes())
