"""The process's registry: what it takes, what it refuses, who replaces whom; and targets as values with parents."""
from importlib.metadata import EntryPoint

import pytest

import legato
from legato import kernels
from legato.core.errors import LegatoError
from legato.targets import catalog, registry
from legato.targets.catalog import Catalog

NPU = legato.Target("npu", parents=("llvm",), options={"tiles": 4})


@pytest.fixture(autouse=True)
def registered():
    with registry.isolated():
        legato.register_target(NPU)
        yield


def names(target="npu"):
    return [r.name for r in registry.rules_of(target)]


@pytest.mark.parametrize("register, message", [
    (lambda: legato.legalize("relax.sofmax", target="npu"), r"there is no op 'relax.sofmax'; did you mean 'relax.softmax'"),
    (lambda: legato.lower_intrinsic("math.expp", target="npu"), r"there is no op 'math.expp'; did you mean 'math.exp"),
    (lambda: legato.legalize("relax.exp", target="npuu"), r"unknown target 'npuu'; did you mean 'npu'"),
    (lambda: legato.legalize("math.exp", target="npu", form="kernel"), "math.exp is no graph op"),
    (lambda: legato.lower_intrinsic("relax.exp", target="npu"), "relax.exp is a graph op"),
    (lambda: legato.legalize(target="npu"), "wants the names of ops"),
    (lambda: legato.register_target(legato.Target("llvm")), "'llvm' comes with Legato"),
    (lambda: legato.Target("two words"), "cannot name a target"),
])
def test_what_is_refused(register, message):
    with pytest.raises(LegatoError, match=message):
        register()


def test_two_rules_of_one_rank_are_refused():
    @legato.legalize("relax.exp", target="npu")
    def one(k, x, out):
        return None

    with pytest.raises(LegatoError, match=r"two rules of one rank for relax.exp \(legalize\) on target 'npu': one .* and other .*priority"):
        @legato.legalize("relax.exp", target="npu")
        def other(k, x, out):
            return None

    legato.legalize("relax.exp", target="npu", priority=1)(other_name)
    assert names() == ["one", "other_name"]


def other_name(k, x, out):
    return None


CELL = """
@legato.legalize({op!r}, target="npu", when=kernels.rank(2))
def cell(k, x, out):
    return {number}
"""


def run_cell(op, number):
    exec(compile(CELL.format(op=op, number=number), "<cell>", "exec"), {"legato": legato, "kernels": kernels, "__name__": "notebook"})


def test_a_function_defined_again_replaces_itself():
    run_cell("relax.exp", 1)
    run_cell("relax.exp", 2)
    assert [r.function(None, None, None) for r in registry.rules_of("npu")] == [2]
    run_cell("relax.tanh", 3)
    assert [r.op for r in registry.rules_of("npu")] == ["relax.tanh"], "the cell was edited: its former rule is gone"


def test_functions_made_in_a_loop_do_not_replace_each_other():
    for op in ("relax.exp", "relax.tanh", "relax.erf"):
        @legato.legalize(op, target="npu")
        def rule(k, x, out):
            return None

    assert [r.op for r in registry.rules_of("npu")] == ["relax.exp", "relax.tanh", "relax.erf"]


def test_tir_names_are_spellings_of_maths():
    legato.lower_intrinsic("tir.exp", target="npu")(lambda op, x: x)
    assert [r.op for r in registry.rules_of("npu")] == ["math.exp"]


def test_a_catalog_is_a_snapshot():
    before = Catalog()
    legato.legalize("relax.exp", target="npu")(other_name)
    assert [r.name for _, r in before.resolve("npu").ranked(op="relax.exp")] == ["math_function"]
    assert [r.name for _, r in Catalog().resolve("npu").ranked(op="relax.exp")] == ["other_name", "math_function"]


def test_a_users_rule_comes_before_those_that_a_target_has():
    legato.legalize("relax.exp", target="generic")(other_name)
    assert [r.name for _, r in Catalog().resolve("llvm").ranked(op="relax.exp")] == ["other_name", "math_function"]


def test_chains_options_and_text():
    npu = Catalog().resolve("npu{threads=2 tiles=8}")
    assert [t.name for t in npu.chain()] == ["npu", "llvm", "cpu", "generic"]
    assert dict(npu.options) == {"cpu": "host", "threads": 2, "fuse-attention": True, "integer-contractions": True, "winograd": True,
                                 "strassen": True,
                                 "matmul-precision": None, "flush-denormals": None, "check-bounds": None, "fill-memory": None, "tiles": 8}
    assert npu.cpu is not None and npu.cpu.threads == 2
    text = "npu{cpu=host threads=2 fuse-attention=true integer-contractions=true winograd=true strassen=true tiles=8}"
    assert str(Catalog().resolve(str(npu))) == str(npu) == text
    assert [t.name for t in Catalog().resolve("nvvm").chain()] == ["nvvm", "gpu", "generic"]
    assert [t.name for t in Catalog().resolve("vulkan").chain()] == ["vulkan", "gpu", "generic"]


@pytest.mark.parametrize("text, message", [
    ("npuu", "unknown target 'npuu'; did you mean 'npu'"), ("npu{tile=3}", "no option 'tile'; did you mean 'tiles'"),
    ("npu{tiles=x}", "option 'tiles' wants int, found 'x'"), ("npu{tiles}", "option 'tiles' has no value"),
    ("npu{tiles=1 tiles=2}", "given twice"), ("npu{cpu=z80}", "z80"), ("a b", "is no target"),
])
def test_target_texts_that_are_refused(text, message):
    with pytest.raises(LegatoError, match=message):
        Catalog().resolve(text)


def test_parents_that_are_not_there_or_go_round():
    with pytest.raises(LegatoError, match="target 'x': unknown parent 'lvm'; did you mean 'llvm'"):
        Catalog().resolve(legato.Target("x", parents=("lvm",)))
    legato.register_target(legato.Target("x", parents=("y",)))
    legato.register_target(legato.Target("y", parents=("x",)))
    with pytest.raises(LegatoError, match="its own ancestor: x <- y <- x"):
        Catalog().resolve("x")


def test_entry_points(monkeypatch):
    found = [EntryPoint("tpu", "tpu_package:TPU", catalog.GROUP), EntryPoint("odd", "math:pi", catalog.GROUP)]
    monkeypatch.setattr(catalog, "installed", lambda: found)
    with pytest.raises(LegatoError, match="cannot be loaded: ModuleNotFoundError"):
        Catalog().resolve("tpu")
    with pytest.raises(LegatoError, match="is no Target but float"):
        Catalog().resolve("odd")
    monkeypatch.setattr(EntryPoint, "load", lambda self: legato.Target("tpu", parents=("llvm",)))
    legato.legalize("relax.exp", target="tpu")(other_name)
    assert [r.name for _, r in Catalog().resolve("tpu").ranked(op="relax.exp")] == ["other_name", "math_function"]
    assert "tpu" in Catalog().names()


def test_a_package_installed_with_an_entry_point(tmp_path, monkeypatch):
    info = tmp_path / "tpu_pkg-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tpu-pkg\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[legato.targets]\ntpu2 = tpu_pkg_module:make\n")
    (tmp_path / "tpu_pkg_module.py").write_text(
        "import legato\n\ndef make():\n    return legato.Target('tpu2', parents=('llvm',))\n\n"
        "@legato.legalize('relax.exp', target='tpu2')\ndef rule(k, x, out):\n    return None\n")
    monkeypatch.syspath_prepend(tmp_path)
    # the rules that loading the target registers belong to it already
    assert [r.name for _, r in Catalog().resolve("tpu2").ranked(op="relax.exp")] == ["rule", "math_function"]
