"""PTX of lowered GPU modules, by the LLVM of the package ``llvmlite`` (the extra ``gpu``): MLIR's wheel has no PTX code generator."""
import os
import re
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from legato.codegen.llvm_text import for_llvm_22
from legato.core.errors import LegatoError
from legato.core.nvidia_chips import parse_chip

TRIPLE = "nvptx64-nvidia-cuda"
LIBDEVICE = "nvvm/libdevice/libdevice.10.bc"
TRITON = "triton/backends/nvidia"       # where Triton has what it needs of CUDA
DEVICE_FUNCTION = re.compile(r"__nv_\w+")
# in PTX 8.4 and later, of CUDA 12.4: products of floats of 8 bits, and those of a warpgroup of signed by unsigned bytes
NEW_PRODUCT = re.compile(r"llvm\.nvvm\.mma\.m16n8k32\.row\.col\.f32\.e\dm\d|wgmma\.mma_async\.[\w.]*\.s32\.(u8\.s8|s8\.u8)")
VOLTA = 70      # shuffles are of PTX 6.0, LLVM's default from this chip on only
SHORT_ADDRESSES = "--nvptx-short-ptr"
OPTION = Lock()     # of SHORT_ADDRESSES
UNKNOWN = re.compile(r"llvm[._]nvvm[\w.$]*")


def ptx(codes: Sequence[str], chip: str = "sm_80") -> str:
    """Links modules of LLVM IR with kernels and compiles them to PTX for a chip. LegatoError if llvmlite is not installed, if the
    chip's name is invalid, and if a function of libdevice is not found."""
    check_ptx(chip)
    llvm = binding()
    features = "+ptx84" if any(map(NEW_PRODUCT.search, codes)) else "+ptx60" if parse_chip(chip)[0] < VOLTA else ""
    machine = target_machine(llvm, chip, features)
    head = f'target triple = "{TRIPLE}"\ntarget datalayout = "{machine.target_data}"\n'
    try:
        module, *others = (llvm.parse_assembly(head + for_llvm_22(code)) for code in codes)
    except RuntimeError as error:
        version = ".".join(map(str, llvm.llvm_version_info))
        raise LegatoError(f"llvmlite, whose LLVM is {version}, does not read the module: {error}") from None
    for other in others:
        module.link_in(other)
    link_libdevice(llvm, module)
    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization = False  # the kernel's threads are the lanes already
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    text = machine.emit_assembly(module)
    unknown = sorted({name for line in text.splitlines() if not line.lstrip().startswith("//") for name in UNKNOWN.findall(line)})
    if unknown:
        raise LegatoError(f"llvmlite's LLVM does not know the intrinsics {', '.join(unknown)}")
    return text


@cache
def binding() -> Any:
    """LLVM, with its code generators."""
    llvm = import_module("llvmlite.binding")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm


def target_machine(llvm: Any, chip: str, features: str) -> Any:
    """LLVM's machine for a chip, with addresses of shared memory of 32 bits. Only a process-wide option of LLVM asks for those, which it
    reads when it makes a machine: the option is set for that time only, so that machines of others who use llvmlite keep their layout."""
    with OPTION:
        llvm.set_option("legato", SHORT_ADDRESSES)
        try:
            return llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=chip, features=features, opt=3)
        finally:
            llvm.set_option("legato", f"{SHORT_ADDRESSES}=false")


def check_ptx(chip: str) -> None:
    """LegatoError if no PTX can be made here: llvmlite is not installed, or the chip's name is invalid."""
    if find_spec("llvmlite") is None:
        raise LegatoError("PTX is made by the package llvmlite, which is not installed: pip install 'legato[gpu]'")
    parse_chip(chip)


def link_libdevice(llvm: Any, module: Any) -> None:
    """Links the functions of libdevice that a module calls. LegatoError if there is no libdevice."""
    wanted = sorted(f.name for f in module.functions if f.is_declaration and DEVICE_FUNCTION.fullmatch(f.name))
    if not wanted:
        return
    own = {f.name for f in module.functions if not f.is_declaration}
    library = llvm.parse_bitcode(find_libdevice(wanted).read_bytes())
    library.triple, library.data_layout = module.triple, module.data_layout
    module.link_in(library)
    for function in module.functions:
        if not function.is_declaration and function.name not in own:
            function.linkage = "internal"


def find_libdevice(wanted: list[str]) -> Path:
    """NVIDIA's device library: from LEGATO_LIBDEVICE, the package nvidia-nvvm, a CUDA installation, or Triton, which comes with PyTorch.
    LegatoError if it is not found."""
    given = os.environ.get("LEGATO_LIBDEVICE")
    places = [Path(given)] if given else [
        *(found for d in sys.path for found in Path(d, "nvidia").glob(f"*/{LIBDEVICE}")),
        *(Path(root, LIBDEVICE) for root in (os.environ.get("CUDA_HOME"), "/usr/local/cuda") if root),
        *(Path(d, TRITON, "lib", Path(LIBDEVICE).name) for d in sys.path)]
    for place in places:
        if place.is_file():
            return place
    raise LegatoError(f"the module calls {', '.join(wanted)} of NVIDIA's libdevice, which is not found: pip install nvidia-nvvm, or say "
                      "where it is (LEGATO_LIBDEVICE=.../libdevice.10.bc), or compile for nvvm{approx=true}")
