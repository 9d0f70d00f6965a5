"""TVM's spellings of targets (``llvm -mcpu=znver4``, ``cuda -arch=sm_90``, ``{"kind": "cuda"}``), answered with ours."""
from __future__ import annotations

import json
import re

KINDS = {"llvm": "llvm", "cuda": "nvvm", "nvptx": "nvvm", "vulkan": "vulkan"}
WITHOUT = ("c", "hexagon", "hip", "metal", "opencl", "rocm", "webgpu")  # kinds that nothing here corresponds to
OPTIONS = {"llvm": {"mcpu": "cpu", "num-cores": "threads"}, "nvvm": {"arch": "chip", "mcpu": "chip"}, "vulkan": {}}


def answer(text: str) -> str | None:
    """What to write instead of a target in TVM's spelling; None for other text."""
    found = _parsed(text.strip())
    if found is None:
        return None
    kind, options = found
    if kind in WITHOUT:
        return f"'{text}' is a target of TVM's, which Legato does not have: it compiles for llvm (CPUs), nvvm (NVIDIA's GPUs) and vulkan"
    ours = KINDS[kind]
    known = {OPTIONS[ours][key]: value for key, value in options.items() if key in OPTIONS[ours]}
    left = [f"-{key}" for key in options if key not in OPTIONS[ours]]
    given = " ".join(f"{key}={value}" for key, value in known.items())
    rest = f" ({', '.join(left)}: without a counterpart)" if left else ""
    return f"'{text}' is TVM's spelling of a target: here it is {ours}{f'{{{given}}}' if given else ''}{rest}"


def _parsed(text: str) -> tuple[str, dict[str, str]] | None:
    """The kind and the options of a target that only TVM writes so."""
    if text.startswith("{"):
        try:
            values = json.loads(text)
        except ValueError:
            return None
        kind = values.pop("kind", None)
        return (kind, {key: str(value) for key, value in values.items()}) if _is_kind(kind) else None
    kind, *words = text.split() or [""]
    if kind.startswith("nvidia/") and not words:  # a tag, such as nvidia/geforce-rtx-3090
        return "cuda", {"arch": "sm_NN"}
    if not _is_kind(kind) or (not words and kind in ("llvm", "vulkan")) or (words and not words[0].startswith("-")):
        return None
    joined = re.sub(r"(--?[\w-]+)\s+(?!-)", r"\1=", " ".join(words))  # -mcpu znver4
    options = [word.lstrip("-").partition("=") for word in joined.split()]
    return kind, {name: value for name, _, value in options}


def _is_kind(kind: object) -> bool:
    return kind in KINDS or kind in WITHOUT
