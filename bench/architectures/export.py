"""Exports an architecture from PyTorch: a file for each exporter and choice of sizes, with arguments and PyTorch's results."""
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
import torch  # pyright: ignore[reportMissingImports]

from .models import Tensors, arguments, axes, image_side, model
from .ways import EXPORTERS, SIZES, Way

OPSET = {"dynamo": 18, "script": 17}
# the attention of transformers' choice, else the plain one, which exporters take where they refuse the other; whether the sides of images
# are free, which many architectures fix
TRIED = ((None, True), ("eager", True), (None, False))


def export(name: str, folder: Path) -> None:
    """Writes ``EXPORT.onnx`` for each way that torch can export the architecture, ``EXPORT.json`` with the reason for the others, and
    ``arguments.npz``."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with torch.no_grad():
        calls = _calls(name)
        for sizes in SIZES:
            for exporter in EXPORTERS:
                way = Way(exporter, sizes)
                if (folder / f"{way}.json").exists():
                    continue
                started, reason, attention = time.process_time(), "", None
                for attention, sides in TRIED:
                    if not sides and axes(name, sizes) == axes(name, sizes, sides):
                        continue
                    try:
                        _write(name, way, model(name, attention), folder / f"{way}.part", axes(name, sizes, sides))
                        os.replace(folder / f"{way}.part", folder / f"{way}.onnx")
                        reason = ""
                        break
                    except Exception as error:
                        reason = reason or _reason(error)
                (folder / f"{way}.json").write_text(json.dumps({
                    "failed": reason, "attention": attention or "default", "seconds": time.process_time() - started}))
        if not (folder / "arguments.npz").exists():
            whole = model(name)
            stored: dict[str, np.ndarray] = {}
            for label, given in calls.items():
                stored |= {f"{label}/in/{key}": value.numpy() for key, value in given.items()}
                try:
                    stored |= {f"{label}/out/{i}": value.numpy() for i, value in enumerate(whole(*given.values()))}
                except Exception as error:   # a size that the model itself does not take
                    stored[f"{label}/failed"] = np.array(_reason(error))
            np.savez(folder / "arguments.npz", **stored)


def _calls(name: str) -> dict[str, dict[str, torch.Tensor]]:
    """Arguments by a name that begins with the choice of sizes from which on a model takes them."""
    torch.manual_seed(1)
    side = image_side(name)
    return {
        "static.0": arguments(name, 2, 12), "static.1": arguments(name, 2, 12),
        "batch.0": arguments(name, 3, 12), "batch.1": arguments(name, 1, 12), "batch.2": arguments(name, 5, 12),
        "all.0": arguments(name, 3, 19, side * 2), "all.1": arguments(name, 1, 9, side + 32), "all.2": arguments(name, 4, 33, side),
    }


def _write(name: str, way: Way, whole: Tensors, path: Path, named: dict[str, dict[int, str]]) -> None:
    given = arguments(name, 2, 12)
    if way.exporter == "script":
        torch.onnx.export(whole, tuple(given.values()), str(path), dynamo=False, input_names=list(given), dynamic_axes=named or None,
                          opset_version=OPSET["script"])
        return
    shapes = (tuple(named.get(key) for key in given),) if named else None
    program = torch.onnx.export(whole, tuple(given.values()), dynamo=True, dynamic_shapes=shapes, input_names=list(given), verbose=False,
                                opset_version=OPSET["dynamo"])
    program.save(str(path), external_data=False)


def _reason(error: BaseException) -> str:
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:400]
