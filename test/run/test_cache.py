"""The cache of compiled models: what is found in it, what is not, and what damage and other processes do to it."""
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from thoroughly import sampled

import legato
from legato import cache_keys, compile_cache, kernels
from legato.core import cpu
from legato.dialects.late_loading import python_dialects
from legato.runtime.cache_folder import CacheFolder
from legato.targets.registry import isolated

X = np.linspace(-2, 2, 24, dtype=np.float32).reshape(2, 12)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A cache of its own for each test, which keeps small models, too."""
    monkeypatch.setenv("LEGATO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(compile_cache, "WORTH_IT", 0)
    monkeypatch.setattr(compile_cache, "uses", compile_cache.Uses())
    monkeypatch.setattr(legato.cache, "uses", compile_cache.uses)
    monkeypatch.setattr(cache_keys, "OWN_DIALECTS", {*python_dialects()})   # other tests of this process define some
    monkeypatch.setattr(cache_keys, "TENSOR_INTRINSICS", {})
    yield tmp_path / "cache"
    compile_cache.wait_for_writers()


def model(scale: float = 1.0, activation: str = "Relu", columns: int = 40, name: str = "y") -> onnx.ModelProto:
    """A product with a constant weight, which is packed, an activation, and a small constant."""
    weight = np.random.default_rng(3).standard_normal((12, columns), np.float32)
    weight[5, 7] *= np.float32(scale)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["p"]), helper.make_node("Add", ["p", "b"], ["s"]),
             helper.make_node(activation, ["s"], [name])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 12))],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(np.float32(0.25), "b")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def compiled(proto: onnx.ModelProto | None = None, target: str = "llvm", **given) -> tuple[legato.Executable, bool]:
    """The executable, and whether it came from the cache. What is kept has been written."""
    before = compile_cache.uses.hits
    executable = legato.compile(legato.from_onnx(proto or model()), target, **given)
    compile_cache.wait_for_writers()
    return executable, compile_cache.uses.hits > before


def expected(proto: onnx.ModelProto) -> np.ndarray:
    weight, bias = (numpy_helper.to_array(tensor) for tensor in proto.graph.initializer)
    activation = {"Relu": lambda s: np.maximum(s, 0), "Neg": np.negative}[proto.graph.node[-1].op_type]
    return activation(X.astype(np.float64) @ weight + bias)


def test_the_second_compile_finds_the_first():
    first, found = compiled()
    assert not found
    second, found = compiled()
    assert found and second.report.stages[0][0] == "cache" and len(second.report.stages) == 1
    np.testing.assert_array_equal(second(X), first(X))
    np.testing.assert_allclose(second(X), expected(model()), rtol=1e-5)
    assert second.signature.text == first.signature.text
    assert second.report.kernels == first.report.kernels and str(second.report.target) == str(first.report.target)
    assert second.explain() == first.explain() and str(second.explain()) == str(first.explain())


def test_progress_tells_of_the_cache():
    compiled()
    stages = []
    compiled(progress=lambda stage, seconds: stages.append(stage))
    assert stages == ["cache"]


def test_a_model_from_the_cache_is_profiled_and_saved_when_its_entry_is_gone(folder, tmp_path):
    first, _ = compiled()
    second, found = compiled()
    assert found
    legato.cache.clear()
    assert not list(folder.iterdir())
    assert first.recorder is not None and second.recorder is not None
    assert second.recorder.calls() == first.recorder.calls()
    assert len(legato.profile(second, X, runs=2, warmup=1, peaks=False).calls) == len(first.recorder.calls())
    loaded = legato.load(second.save(tmp_path / "m.legato"), verify=True)
    np.testing.assert_array_equal(loaded(X), first(X))


@pytest.mark.parametrize("other", [
    model(scale=1.0000001), model(activation="Neg"), model(columns=41), model(name="z")], ids=["weight", "op", "shape", "name"])
def test_another_model_is_not_found(other):
    compiled()
    executable, found = compiled(other)
    assert not found
    np.testing.assert_allclose(executable(X), expected(other), rtol=1e-5)
    assert executable.outputs[0].name == other.graph.output[0].name


@pytest.mark.parametrize("target", ["llvm{cpu=x86-64-v3}", "llvm{fuse-attention=false}", "llvm{threads=2}"])
def test_another_target_is_not_found(target):
    compiled()
    assert not compiled(target=target)[1]
    assert compiled(target=target)[1]


@pytest.mark.parametrize("change", [
    (cache_keys, "FORMAT", "0"), (cache_keys, "_version", lambda package: "1"), (cache_keys, "_own_code", lambda: "edited"),
    (cpu, "host_features", lambda: frozenset({"avx2"})), (cpu, "host_caches", lambda: None), (cpu, "host_name", lambda: "another")],
    ids=["format", "packages", "own-code", "features", "caches", "cpu"])
def test_the_key_depends_on_the_compiler_and_the_machine(monkeypatch, change):
    lowered, module = legato.lower(legato.from_onnx(model())).module, legato.from_onnx(model())
    target = legato.targets.catalog.Catalog().resolve("llvm{cpu=x86-64-v3}")

    def keys() -> tuple:
        cache_keys._environment.cache_clear()
        return cache_keys.model_key(module, target), cache_keys.code_key(lowered)

    before = keys()
    assert keys() == before and None not in before
    monkeypatch.setattr(*change)
    after = keys()
    monkeypatch.undo()
    cache_keys._environment.cache_clear()
    assert after[0] != before[0] and after[1] != before[1]


def test_the_key_depends_on_the_files_of_the_package(tmp_path, monkeypatch):
    package = tmp_path / "legato"
    (package / "core").mkdir(parents=True)
    file = package / "core" / "a.py"
    file.write_text("x = 1\n")
    monkeypatch.setattr(cache_keys, "__file__", str(package / "cache_keys.py"))
    before = cache_keys._own_code()
    state = file.stat()
    file.write_text("x = 2\n")
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert cache_keys._own_code() != before


def test_rules_of_the_user_are_never_stale():
    """What a rule does may depend on anything: here on a list. The IR that it leads to is the key."""
    factor = [2.0]

    def relu(k, x, out):
        return kernels.pointwise(k, out, [x], lambda e, x: e.add(x, x) if factor[0] == 2.0 else e.add(e.add(x, x), x))

    with isolated():
        legato.legalize("relax.relu", target="llvm")(relu)
        first, found = compiled()
        assert not found
        again, found = compiled()   # the same IR: its machine code is found
        assert found and again.report.stages[-1][0] == "native" and len(again.report.stages) > 3
        np.testing.assert_array_equal(again(X), first(X))
        assert again.explain() == first.explain()
        factor[0] = 3.0
        changed, found = compiled()
        assert not found
        np.testing.assert_allclose(changed(X), first(X) * 1.5, rtol=1e-5)
    assert not compiled()[1]        # without the rule the graph has a key


def test_rules_given_to_a_compile_have_a_key_by_their_ir():
    def declining(reason):
        return lambda k, x, out: legato.Refusal(reason)

    assert not compiled(rules={"relax.relu": declining("one")})[1]
    assert compiled(rules={"relax.relu": declining("two")})[1]       # both decline: the same IR


def test_passes_and_other_stages_are_seen_in_the_ir():
    compiled()
    assert not compiled(passes="relax-infer-shapes")[1]
    assert compiled(passes="relax-canonicalize")[1]            # the same IR in the end


def test_a_registered_dialect_or_intrinsic_leaves_the_graph_without_a_key(monkeypatch):
    module, target = legato.from_onnx(model()), legato.targets.catalog.Catalog().resolve("llvm")
    assert cache_keys.model_key(module, target) is not None
    monkeypatch.setitem(cache_keys.TENSOR_INTRINSICS, "mine", (None, None))
    assert cache_keys.model_key(module, target) is None
    monkeypatch.undo()
    monkeypatch.setattr(cache_keys, "python_dialects", lambda: {"relax": None, "tir": None, "mine": None})
    assert cache_keys.model_key(module, target) is None


def entry(folder: Path) -> Path:
    (found,) = CacheFolder(folder).entries()
    return found


def flipped(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


DAMAGE = {
    "code": lambda e: flipped(e / "model.so", 5000), "end of code": lambda e: flipped(e / "model.so", -1),
    "weights": lambda e: flipped(e / "weights", 1000), "head of weights": lambda e: flipped(e / "weights", 3),
    "about": lambda e: flipped(e / "about.json", 100), "no code": lambda e: (e / "model.so").unlink(),
    "no weights": lambda e: (e / "weights").unlink(), "no about": lambda e: (e / "about.json").unlink(),
    "short weights": lambda e: os.truncate(e / "weights", 256), "short code": lambda e: os.truncate(e / "model.so", 4096),
    "empty": lambda e: [file.write_bytes(b"") for file in e.iterdir()], "a file": lambda e: (shutil.rmtree(e), e.write_text("x")),
    "code of another": lambda e: (compiled(model(activation="Neg")), shutil.copy(
        next(other for other in CacheFolder(e.parent).entries() if other != e) / "model.so", e / "model.so")),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_damaged_entries_are_dropped_and_made_again(folder, damage):
    first, _ = compiled()
    damage(entry(folder))
    second, found = compiled()
    assert not found
    np.testing.assert_array_equal(second(X), first(X))
    third, found = compiled()
    assert found
    np.testing.assert_array_equal(third(X), first(X))


def test_those_unused_for_longest_are_removed(folder, monkeypatch):
    sizes = []
    for scale in (1, 2, 3):
        compiled(model(scale))
        sizes.append(legato.cache.info().bytes)
    monkeypatch.setenv("LEGATO_CACHE_LIMIT", str(sizes[2] + sizes[0] // 2))   # three entries and a half
    time.sleep(0.01)
    assert compiled(model(1))[1]            # used now: the second is the oldest
    assert not compiled(model(4))[1]
    info = legato.cache.info()
    assert info.entries == 3 and info.bytes <= info.limit
    assert compiled(model(1))[1] and compiled(model(3))[1] and compiled(model(4))[1]
    assert not compiled(model(2))[1]


def test_an_entry_larger_than_half_of_the_limit_is_not_kept(folder, monkeypatch):
    monkeypatch.setenv("LEGATO_CACHE_LIMIT", "2k")
    compiled()
    assert legato.cache.info().entries == 0 and not list(folder.iterdir())


@pytest.mark.parametrize("limit", ["lots", "-5", "1.5G"])
def test_a_limit_that_is_none_is_refused(monkeypatch, limit):
    monkeypatch.setenv("LEGATO_CACHE_LIMIT", limit)
    with pytest.raises(legato.LegatoError, match=r"LEGATO_CACHE_LIMIT.*expected a size"):
        compiled()


@pytest.mark.parametrize("given", [{"cache": False}, {"verify_each": True}])
def test_a_compile_without_the_cache_neither_reads_nor_writes(folder, given):
    compiled(**given)
    assert not folder.exists()
    compiled()
    assert not compiled(**given)[1]


def test_off_by_the_environment(monkeypatch):
    monkeypatch.setenv("LEGATO_CACHE", "off")
    compiled()
    assert not compiled()[1]
    assert legato.cache.info().folder is None and "LEGATO_CACHE is off" in str(legato.cache.info())


def test_the_place_follows_xdg(monkeypatch, tmp_path):
    monkeypatch.delenv("LEGATO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert legato.cache.info().folder == tmp_path / "xdg" / "legato"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")   # to be ignored, says the specification
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert legato.cache.info().folder == tmp_path / "home" / ".cache" / "legato"


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o1777])
def test_a_folder_that_others_can_write_is_not_used(folder, mode):
    compiled()
    folder.chmod(mode)
    assert not compiled()[1]
    assert "written by other users" in legato.cache.info().reason
    folder.chmod(0o755)
    assert compiled()[1]


def test_a_folder_of_another_user_is_not_used(folder, monkeypatch):
    compiled()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert not compiled()[1]
    assert "belongs to another user" in str(legato.cache.info())


def test_a_place_that_cannot_be_made_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LEGATO_CACHE", str(tmp_path / "file" / "cache"))
    compiled()
    assert "cannot be made" in str(legato.cache.info())


def test_without_a_linker_nothing_is_kept(folder, monkeypatch):
    monkeypatch.setenv("LEGATO_LINKER", "no-such-linker")
    executable, _ = compiled()
    np.testing.assert_allclose(executable(X), expected(model()), rtol=1e-5)
    assert legato.cache.info().entries == 0 and not list(folder.iterdir())


def test_compiles_that_take_no_time_are_not_kept(monkeypatch):
    monkeypatch.setattr(compile_cache, "WORTH_IT", 1e6)
    compiled()
    assert legato.cache.info().entries == 0


CHILD = textwrap.dedent("""
    import sys, numpy as np, onnx, legato
    from legato import compile_cache
    compile_cache.WORTH_IT = 0
    proto, count, clears = onnx.load(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "clears"
    x = np.linspace(-2, 2, 24, dtype=np.float32).reshape(2, 12)
    sums = set()
    for number in range(count):
        sums.add(legato.compile(legato.from_onnx(proto))(x).tobytes())
        if clears and number % 3 == 2:
            legato.cache.clear()
    print(len(sums), sums.pop().hex(), compile_cache.uses.hits)
""")


def child(tmp_path: Path, count: int, clears: str = "") -> subprocess.Popen:
    onnx.save(model(), tmp_path / "m.onnx")
    return subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path / "m.onnx"), str(count), clears], stdout=subprocess.PIPE, text=True)


def test_a_model_from_the_cache_needs_no_code_generator(tmp_path):
    compiled()
    onnx.save(model(), tmp_path / "m.onnx")
    code = ("import sys, legato; from legato import compile_cache; legato.compile(legato.from_onnx(sys.argv[1])); "
            "print(compile_cache.uses.hits, *{'legato.codegen.jit', 'legato.codegen.entry'} & set(sys.modules))")
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path / "m.onnx")], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["1"]


def test_processes_race(tmp_path, folder):
    reference, _ = compiled(cache=False)
    racing = [child(tmp_path, 6), child(tmp_path, 6), child(tmp_path, 6, "clears")]
    for process in racing:
        out, _ = process.communicate(timeout=120)
        assert process.returncode == 0
        count, values, _ = out.split()
        assert count == "1" and bytes.fromhex(values) == np.asarray(reference(X)).tobytes()
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]   # no staging folder is left


@pytest.mark.parametrize("delay", sampled([0.0, 0.02, 0.05, 0.1], 2))
def test_a_killed_writer_leaves_nothing_that_is_found(tmp_path, folder, delay):
    process = child(tmp_path, 40, "clears")
    end = time.monotonic() + 60
    while not folder.exists() and time.monotonic() < end:
        time.sleep(0.005)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    first, _ = compiled()
    np.testing.assert_allclose(first(X), expected(model()), rtol=1e-5)
    assert compiled()[1]
    compiled(model(2.0))
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]   # the next writer removes what was left


def test_the_tools_can_do_without(tmp_path, folder):
    from legato.tools.legato_compile import main

    onnx.save(model(), tmp_path / "m.onnx")
    for option in ("--no-cache", "--timing", "--explain", "--verify-each"):
        assert main([str(tmp_path / "m.onnx"), "-q", option, "-o", str(tmp_path / "m.legato")]) == 0
        assert not folder.exists(), option
    assert main([str(tmp_path / "m.onnx"), "-q", "-o", str(tmp_path / "m.legato")]) == 0
    assert legato.cache.info().entries == 1
    assert main([str(tmp_path / "m.onnx"), "-q", "-o", str(tmp_path / "n.legato")]) == 0
    assert compile_cache.uses.hits == 1
    for name in ("m", "n"):
        np.testing.assert_allclose(legato.load(tmp_path / f"{name}.legato", verify=True)(X), expected(model()), rtol=1e-5)


def test_json_round_trip_of_an_explanation():
    executable, _ = compiled(cache=False)
    told = executable.explain()
    data = json.loads(told.json())
    assert type(told).of(data) == told and data["ops"]


def test_a_process_that_ends_right_after_a_compile_keeps_the_model(folder, tmp_path):
    """The thread that writes outlives the main one, when no executor takes work any more."""
    onnx.save(model(columns=400_000), tmp_path / "m.onnx")   # weights of several pieces
    code = textwrap.dedent("""
        import legato
        from legato import compile_cache
        compile_cache.WORTH_IT = 0
        legato.compile(legato.from_onnx("m.onnx"))
    """)
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and not done.stderr
    assert compiled(onnx.load(tmp_path / "m.onnx"))[1]
