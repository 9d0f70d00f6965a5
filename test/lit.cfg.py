"""lit's configuration: ``lit -v test`` from the repository, for an editable install and for a wheel installed in another environment.

The tools are those of the Python that runs lit. Features that tests may require: the CPU's vector extensions as Linux names them
(avx2, avx512f, ...), x86_64, aarch64, and optional packages (onnxruntime, intel-openmp, scipy, tokenizers), openmp, cc, onednn.
"""
# ruff: noqa: F821 (lit defines config and lit_config)
import ctypes
import importlib.util
import os
import platform
import shutil
import sys
from pathlib import Path

import lit.formats

bin_folder = Path(sys.prefix) / "bin"
source = Path(__file__).resolve().parent

config.name = "legato"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["lit.cfg.py", "Inputs", "inputs"]
config.test_source_root = str(source)
config.test_exec_root = os.environ.get("LEGATO_LIT_OUTPUT", str(source.parent / "build" / "lit"))

config.environment["PATH"] = os.pathsep.join([str(bin_folder), os.environ["PATH"]])
config.environment["LEGATO_CACHE"] = "off"   # tests compile
sys.path.insert(0, str(source))
from kept_bytecode import keep_bytecode  # noqa: E402

keep_bytecode(os.environ)
for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"):
    config.environment[name] = os.environ.get(name, "")
for name in ("HOME", "LEGATO_DEBUG", "LD_LIBRARY_PATH", "MALLOC_PERTURB_", "OMP_NUM_THREADS", "PYTHONPATH", "TMPDIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]

for tool in ("legato-opt", "legato-compile", "legato-run", "filecheck"):
    if not (bin_folder / tool).exists():
        lit_config.fatal(f"{bin_folder / tool} is missing: install legato[test] into {sys.prefix}")
if sys.platform == "linux" and not os.environ.get("LEGATO_LIT_COLD"):
    from warm_tools import start
    config.environment["PATH"] = os.pathsep.join([str(start(Path(config.test_exec_root) / "tools")), config.environment["PATH"]])
config.substitutions += [
    ("%python", sys.executable),
    ("%{bufferize}", "\"" + (
        "tir-prepare-main,tir-tie-results,tir-eliminate-empty-tensors,tir-drop-ties,"
        "one-shot-bufferize{bufferize-function-boundaries=1 function-boundary-type-conversion=identity-layout-map},"
        "canonicalize,cse,canonicalize,tir-drop-results,tir-extract-workspaces,cse") + "\""),
    ("%{root}", str(source.parent)),
]


def cpu_flags() -> list[str]:
    """The CPU's features in Linux's words; empty elsewhere."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return []
    return next((line.split(":", 1)[1].split() for line in lines if line.startswith(("flags", "Features"))), [])


config.available_features.update(flag.replace("_", "-") for flag in cpu_flags())
config.available_features.add({"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine()))
config.available_features.update(package for package in ("onnxruntime", "scipy", "tokenizers", "openvino", "tensorrt")
                                 if importlib.util.find_spec(package) is not None)
if any(shutil.which(compiler) for compiler in ("cc", "clang", "gcc")):
    config.available_features.add("cc")
try:
    has_onednn = hasattr(ctypes.CDLL("libdnnl.so.2"), "dnnl_pooling_forward_desc_init")   # of 2.x
except OSError:
    has_onednn = False
if has_onednn or "LEGATO_TEST_ONEDNN" in os.environ:
    config.available_features.add("onednn")
if list((Path(sys.prefix) / "lib").glob("libiomp5.so*")) or any(Path("/usr/lib").glob("**/libomp.so*")):
    config.available_features.add("openmp")
