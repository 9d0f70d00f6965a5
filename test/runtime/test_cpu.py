"""The table of CPUs against LLVM's own, and this machine."""
import re

import numpy as np
import pytest
from models import build, identity, numbers

from legato.core import cpu
from legato.core.cpu_table import CPUS, DEFAULT_CACHES, FLAGS, MATRIX_FLAGS
from legato.core.errors import LegatoError
from legato.core.mlir import ir, passmanager
from legato.runtime import load
from legato.targets.cpu.machine import Machine


def llvm_features(name):
    with ir.Context(), ir.Location.unknown():
        target = f'#llvm.target<triple = "x86_64-unknown-linux-gnu", chip = "{name}">'
        module = ir.Module.parse(f"module attributes {{llvm.target = {target}}} {{}}")
        passmanager.PassManager.parse("builtin.module(llvm-target-to-target-features)").run(module.operation)
        return set(re.findall(r'"\+([^"]+)"', str(module)))


def test_the_table_is_llvms():
    for name, features in CPUS.items():
        assert features == llvm_features(name) & FLAGS.keys(), name
        assert cpu.explicit_features(name) == llvm_features(name) & MATRIX_FLAGS.keys(), name


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


def test_matrices_only_where_the_system_allows_them(monkeypatch):
    """Also where a virtual machine names another model of CPU."""
    flags = " ".join([FLAGS_OF_A_SERVER, *MATRIX_FLAGS.values()])
    monkeypatch.setattr(cpu, "host_flags", lambda: {"vendor_id": "GenuineIntel", "cpu family": "6", "model": "106", "flags": flags})
    for allowed in (True, False):
        monkeypatch.setattr(cpu, "tiles_allowed", lambda allowed=allowed: allowed)
        assert Machine.host().cpu == "icelake-server" and Machine.host().has("avx512bf16")
        assert Machine.host().has("amx-int8") == allowed
        assert ("amx-tile" in cpu.missing_features("icelake-server", "+amx-tile")) != allowed


def test_the_model_of_a_virtual_machine_with_matrices(monkeypatch):
    """It is at least the first CPU that has them, where nothing of that one is hidden."""
    flags = {**FLAGS, **MATRIX_FLAGS}
    everything = " ".join(flags[feature] for feature in CPUS["sapphirerapids"] | MATRIX_FLAGS.keys())
    monkeypatch.setattr(cpu, "tiles_allowed", lambda: True)
    for model, text, name in (("167", everything, "sapphirerapids"), ("173", everything, "graniterapids"),
                              ("167", everything.replace(flags["avx512fp16"], ""), "rocketlake")):
        monkeypatch.setattr(cpu, "host_flags", lambda model=model, text=text: {
            "vendor_id": "GenuineIntel", "cpu family": "6", "model": model, "flags": text})
        assert cpu.host_name() == name


def test_caches(tmp_path, monkeypatch):
    """Linux's own numbers of the first core: data and unified caches, in KiB or MiB."""
    caches = [("Data", 1, "48K"), ("Instruction", 1, "32K"), ("Unified", 2, "2M"), ("Unified", 3, "260096K")]
    for index, (kind, level, size) in enumerate(caches):
        folder = tmp_path / f"index{index}"
        folder.mkdir()
        for name, text in (("type", kind), ("level", level), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    monkeypatch.setattr(cpu, "CACHE_INFO", tmp_path)
    assert cpu.host_caches.__wrapped__() == (48 << 10, 2 << 20, 254 << 20)
    monkeypatch.setattr(cpu, "CACHE_INFO", tmp_path / "none")
    assert cpu.host_caches.__wrapped__() is None
    for name in ("x86-64-v3", "znver4"):
        machine = Machine.named(name)
        assert (machine.l1_bytes, machine.l2_bytes, machine.l3_bytes) == DEFAULT_CACHES
    assert Machine.named("skylake").l2_bytes == DEFAULT_CACHES.l2 // 2


def test_this_machine():
    assert cpu.host_name() in CPUS
    assert cpu.missing_features(cpu.host_name(), "") == []
    assert cpu.missing_features("", "") == []


def for_cpu(name):
    """The identity, compiled for a CPU."""
    return build(identity("4x", "f32", "4xf32"), target=f"llvm{{cpu={name}}}")


def test_code_for_this_machine_and_for_another(monkeypatch, tmp_path):
    np.testing.assert_array_equal(for_cpu("x86-64-v2")(numbers(4)), numbers(4))
    monkeypatch.setattr(cpu, "host_features", lambda: cpu.features_of("x86-64"))
    exe = for_cpu("x86-64-v2")
    with pytest.raises(LegatoError, match=r"for the CPU x86-64-v2; this one \(x86-64\) does not have cx16, popcnt, sse3, .*Save it"):
        exe(numbers(4))
    exe.save(tmp_path / "model.legato")
    with pytest.raises(LegatoError, match="compiled for the CPU x86-64-v2"):
        load(tmp_path / "model.legato")
    with pytest.raises(cpu.UnknownCpuError, match="unknown CPU 'x86-64-v5'; did you mean"):
        for_cpu("x86-64-v5")
