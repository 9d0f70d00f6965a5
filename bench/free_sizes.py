"""Writes copies of networks for images in which batch, height and width are free: ``python -m bench.free_sizes FILE... -o DIRECTORY``.

``bench.whole`` and ``bench.others`` write networks of known sizes. The copies have the same weights, and the same inputs in ``NAME.npz``:
``python -m bench.peers DIRECTORY/*.onnx`` then says what it costs that only a call gives the sizes. Inputs of less than three dimensions
stay as they are. A network with sizes of its images as constants, in a reshape, say, may run for these only.
"""
import argparse
import shutil
import sys
from pathlib import Path

import onnx

CHANNELS = 1        # the dimension of images that stays


def main(argv: list[str] | None = None) -> int:
    """Writes the copies."""
    options = parser().parse_args(argv)
    options.output.mkdir(parents=True, exist_ok=True)
    for path in options.files:
        onnx.save(freed(onnx.load(path)), options.output / path.name)
        inputs = path.with_suffix(".npz")
        if inputs.exists():
            shutil.copyfile(inputs, options.output / inputs.name)
    return 0


def freed(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy in which the sizes of images have names, those of several images the same where they are equal, and results any sizes."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    constants = {tensor.name for tensor in graph.initializer}
    for value in graph.input:
        dims = value.type.tensor_type.shape.dim
        if value.name in constants or len(dims) < 3:
            continue
        for place, dim in enumerate(dims):
            if place != CHANNELS and dim.HasField("dim_value"):
                dim.dim_param = f"size{place}_{dim.dim_value}"
    for value in graph.output:
        value.type.tensor_type.ClearField("shape")
    del graph.value_info[:]
    return made


def parser() -> argparse.ArgumentParser:
    """The command line's parser."""
    p = argparse.ArgumentParser(prog="python -m bench.free_sizes", description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("files", nargs="+", type=Path, metavar="FILE", help="ONNX models, with their inputs in FILE.npz")
    p.add_argument("-o", "--output", type=Path, required=True, metavar="DIRECTORY", help="where the copies are written")
    return p


if __name__ == "__main__":
    sys.exit(main())
