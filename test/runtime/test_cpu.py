"""The table of CPUs against LLVM's own, and this machine."""
import re

import pytest

from legato.mlir import ir, passmanager
from legato.runtime import cpu
from legato.runtime.cpu_table import CPUS, FLAGS


def llvm_features(name):
    with ir.Context(), ir.Location.unknown():
        target = f'#llvm.target<triple = "x86_64-unknown-linux-gnu", chip = "{name}">'
        module = ir.Module.parse(f"module attributes {{llvm.target = {target}}} {{}}")
        passmanager.PassManager.parse("builtin.module(llvm-target-to-target-features)").run(module.operation)
        return set(re.findall(r'"\+([^"]+)"', str(module)))


def test_the_table_is_llvms():
    for name, features in CPUS.items():
        assert features == llvm_features(name) & FLAGS.keys(), name


def test_names_and_features():
    assert cpu.features_of("x86-64-v2", "+fma,-sse3,") == {"fma", "ssse3", "sse4.1", "sse4.2", "popcnt", "cx16"}
    with pytest.raises(cpu.UnknownCpuError, match="unknown CPU 'skylak'; did you mean skylake or "):
        cpu.features_of("skylak")
    with pytest.raises(cpu.UnknownCpuError, match="known are: x86-64, x86-64-v2"):
        cpu.features_of("m68k")


FLAGS_OF_A_SERVER = "fpu " + " ".join(FLAGS[f] for f in CPUS["icelake-server"]) + " avx512_bf16 sse4a"


@pytest.mark.parametrize("info, name", [
    ({"vendor_id": "AuthenticAMD", "cpu family": "25", "model": "17", "flags": FLAGS_OF_A_SERVER}, "znver4"),
    ({"vendor_id": "AuthenticAMD", "cpu family": "25", "model": "1", "flags": FLAGS_OF_A_SERVER}, "znver3"),
    ({"vendor_id": "GenuineIntel", "cpu family": "6", "model": "85", "flags": FLAGS_OF_A_SERVER}, "cooperlake"),
    ({"vendor_id": "GenuineIntel", "cpu family": "6", "model": "143", "flags": FLAGS_OF_A_SERVER}, "x86-64-v4"),   # it hides something
    ({"vendor_id": "Nobody", "flags": "fpu avx"}, "x86-64"),
    ({}, "x86-64")])
def test_the_name_of_a_machine(info, name, monkeypatch):
    """The processor's own name only if everything that LLVM would use there is really there."""
    monkeypatch.setattr(cpu, "host_flags", lambda: info)
    assert cpu.host_name() == name


def test_this_machine():
    assert cpu.host_name() in CPUS
    assert cpu.missing_features(cpu.host_name(), "") == []
    assert cpu.missing_features("", "") == []
