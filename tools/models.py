"""What the tools that compile share: their options."""
import argparse
import re
from pathlib import Path

TARGET = "llvm"


def add_compile_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options shared by the tools that compile."""
    parser.add_argument("--target", default=TARGET, help="what to compile for (default: llvm, this machine's CPU, one thread)")
    parser.add_argument("--backend", action="append", type=backend_option, default=[], metavar="NAME",
                        help="give the parts that it supports to a backend: onnxruntime, openvino, onednn, tensorrt, or one of --load; "
                             "with options as NAME{key=value ...}; may be given again, the first has priority")
    parser.add_argument("--load", action="append", default=[], metavar="FILE.py|MODULE",
                        help="run a Python file, or import a module, first, and use the rules, targets and backends that it defines, "
                             "and the packed functions that it registers")
    parser.add_argument("--shape", action="append", type=dims_option, default=[], metavar="NAME=DIMS",
                        help="an input's shape: numbers and symbols; of a sequence one for each tensor: 2,3;n,3;")
    parser.add_argument("--overridable", action="append", default=[], metavar="NAME",
                        help="an initializer that calls may give another value: an input whose default it is (default: a constant)")
    parser.add_argument("--no-cache", action="store_true", help="compile anew, and keep nothing in the cache of compiled models")


def dims_option(text: str) -> tuple[str, list[int | str] | list[list[int | str]]]:
    """Parses ``name=1,3,n`` to a name and its dimensions, and ``name=1,3;n,3;`` to a name and those of each tensor of a sequence. Raises
    ``argparse.ArgumentTypeError``."""
    name, equals, dims = text.rpartition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"'{text}' is no shape: write NAME=1,3,n")
    if ";" in dims:
        return name, [_sizes(part) for part in dims.removesuffix(";").split(";")]
    return name, _sizes(dims)


def _sizes(text: str) -> list[int | str]:
    """The sizes of a shape; none for a scalar. ``argparse.ArgumentTypeError`` for what is neither a number nor a name."""
    sizes = [size.strip() for size in text.split(",")] if text else []
    if len(sizes) == 1 and re.fullmatch(r"\d+(x\d+)+", sizes[0]):     # 1x3x224x224
        sizes = sizes[0].split("x")
    for size in sizes:
        if not size or (re.fullmatch(r"[-+]?[\d.]+", size) and not size.isdigit()):
            raise argparse.ArgumentTypeError(f"'{size}' is no size: write a number of 0 or more, or a name, as in NAME=1,3,n")
    return [int(size) if size.isdigit() else size for size in sizes]


def backend_option(text: str) -> tuple[str, str]:
    """Parses ``npu{tile=16 level=2}`` to a backend's name and the text of its options. Raises ``argparse.ArgumentTypeError``."""
    found = re.fullmatch(r"([^{}]+)(?:\{([^{}]*)\})?", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"'{text}' is no backend: write NAME or NAME{{key=value ...}}")
    return found[1].strip(), (found[2] or "").strip()


def dim_option(text: str) -> tuple[str, int]:
    """Parses ``n=7`` to a symbol and its value. Raises ``argparse.ArgumentTypeError``."""
    name, equals, value = text.rpartition("=")
    if not equals or not name or not value.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' gives no symbol a value: write n=7")
    return name, int(value)


def seed_option(text: str) -> int:
    """Parses a seed, a number of at least 0. Raises ``argparse.ArgumentTypeError``."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is no seed: write a number of 0 or more")
    return int(text)


def tolerance_option(text: str) -> float:
    """Parses a tolerance, a number of at least 0. Raises ``argparse.ArgumentTypeError``."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not value >= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no tolerance: write a number of 0 or more, such as 1e-4")
    return value


def count_option(text: str) -> int:
    """Parses a number of at least 1. Raises ``argparse.ArgumentTypeError``."""
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of calls: write 50")
    return int(text)


def is_stream(path: Path) -> bool:
    """Whether a path is a pipe or a device (``/dev/stdout``, ``/dev/null``), beside which no weights can be written."""
    return path.exists() and not path.is_file() and not path.is_dir()
