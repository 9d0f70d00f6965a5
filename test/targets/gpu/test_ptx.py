"""PTX by llvmlite (the extra ``gpu``), and LLVM IR rewritten for its older LLVM."""
import os
import re
import struct

import numpy as np
import pytest
from threads_kernels import REFERENCES, add_one, matmul, matmul_tiled, two_launches

import legato
from legato import relax as R
from legato.codegen.cubin import find_ptxas
from legato.codegen.llvm_text import for_llvm_22
from legato.codegen.ptx import TRIPLE, find_libdevice
from legato.driver import ptx
from legato.targets.catalog import Catalog


def ptx_of(kernel, target="nvvm"):
    return ptx(legato.lower(kernel, target), Catalog().resolve(target))


@pytest.fixture
def llvmlite():
    pytest.importorskip("llvmlite")


def test_numbers_are_written_as_bits():
    """Numpy says which bits the decimals of a type are."""
    lines = ["fadd float %x, 1.000000e-01", "fadd half %x, 1.000000e-01", "fadd bfloat %x, 1.000000e-01", "fadd double %x, 1.000000e-01",
             "store float -inf, ptr %p", "store double f0x7FF8000000000000, ptr %p", 'call void @"1.5"(float +qnan, i32 10)',
             "ret void ; 1.5"]
    got = for_llvm_22("\n".join(lines)).split("\n")
    assert got[0].endswith(f"0x{struct.unpack('<Q', struct.pack('<d', float(np.float32(0.1))))[0]:016X}")
    assert got[1].endswith(f"0xH{int(np.float16(0.1).view(np.uint16)):04X}") and got[2].endswith("0xR3DCD")
    assert got[3].endswith(f"0x{int(np.float64(0.1).view(np.uint64)):016X}")
    assert got[4:6] == ["store float 0xFFF0000000000000, ptr %p", "store double 0x7FF8000000000000, ptr %p"]
    assert got[6] == 'call void @"1.5"(float 0x7FF8000000000000, i32 10)' and got[7] == lines[7]


@pytest.mark.parametrize("kernel", [k for k in REFERENCES if k.__name__ not in ("add_one", "softmax")], ids=lambda k: k.__name__)
def test_kernels_need_no_local_memory(llvmlite, kernel):
    """Local buffers, of which all indices are known, are registers."""
    assert ".local" not in ptx_of(kernel)


def test_memory_is_moved_16_bytes_at_once(llvmlite):
    text = ptx_of(matmul_tiled)
    assert text.count("ld.global.v4") + text.count("ld.global.nc.v4") == 1 and text.count("st.global.v4") == 4
    assert text.count("bar.sync") == 2 and ".maxntid 16, 16, 1" in text and text.count(".shared .align 128") == 2


def test_others_who_use_llvmlite_keep_their_layout(llvmlite):
    """Addresses of shared memory have 32 bits in kernels of ours only."""
    text = ptx_of(matmul_tiled)
    assert re.search(r"ld\.shared[\w.]* +\{?[^\[]*\[%r\d", text) and not re.search(r"ld\.shared.*\[%rd\d", text)
    llvm = pytest.importorskip("llvmlite.binding")
    machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu="sm_80")
    assert "p3:32:32" not in str(machine.target_data)


def test_all_kernels_are_in_one_text(llvmlite):
    text = ptx_of(two_launches)
    assert text.count(".visible .entry") == 3 and text.count(".version") == 1


def test_the_chip_is_an_option_of_the_target(llvmlite):
    assert ".target sm_90a" in ptx_of(matmul, "nvvm{chip=sm_90a}")
    for chip in ("h100", "sm_1", "sm_999", "sm_80a", "sm_090"):
        with pytest.raises(legato.LegatoError, match=rf"'{chip}' is no chip of NVIDIA's that Legato compiles for: .*sm_90, sm_90a, "):
            legato.lower(matmul, f"nvvm{{chip={chip}}}", last="relax")     # before any work


@R.function
def softmax_of_rows(x: R.Tensor((4, 64), "float32")):
    return R.nn.softmax(x)


@pytest.mark.parametrize("chip", ["sm_30", "sm_52", "sm_61"])
def test_old_chips_have_shuffles(llvmlite, chip):
    text = ptx_of(softmax_of_rows.module(), f"nvvm{{chip={chip} approx=true}}")
    assert "shfl.sync" in text and ".version 6.0" in text and f".target {chip}" in text


def test_what_is_missing_is_said(llvmlite, monkeypatch, tmp_path):
    monkeypatch.setenv("LEGATO_LIBDEVICE", str(tmp_path / "none.bc"))
    with pytest.raises(legato.LegatoError, match=r"calls __nv_expf of NVIDIA's libdevice, which is not found: pip install nvidia-nvvm"):
        ptx_of(add_one)
    assert "ex2.approx" in ptx_of(add_one, "nvvm{approx=true}")


def test_what_triton_brings_is_found(monkeypatch, tmp_path):
    """Where nothing else has NVIDIA's device library and assembler."""
    folder = tmp_path / "triton/backends/nvidia"
    for name in ("lib/libdevice.10.bc", "bin/ptxas"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).touch(mode=0o755)
    for name in ("LEGATO_LIBDEVICE", "CUDA_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    if not os.path.exists("/usr/local/cuda"):
        assert find_libdevice(["__nv_expf"]) == folder / "lib/libdevice.10.bc" and find_ptxas() == str(folder / "bin/ptxas")


def test_modules_without_gpu_code_are_refused():
    module = legato.Module.parse("func.func @main(%x: tensor<8xf32> {relax.name = \"x\"}) -> tensor<8xf32> { return %x : tensor<8xf32> }")
    with pytest.raises(legato.LegatoError, match="lowered for 'llvm', the module has none"):
        ptx(legato.lower(module, "llvm"), Catalog().resolve("llvm"))


def test_without_llvmlite_it_says_what_to_install(monkeypatch):
    monkeypatch.setattr("legato.codegen.ptx.find_spec", lambda name: None)
    with pytest.raises(legato.LegatoError, match=r"pip install 'legato\[gpu\]'"):
        ptx_of(matmul)
