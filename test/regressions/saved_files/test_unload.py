"""A loaded model's library is unmapped with the last object that needs it, and not before."""
import gc
import shutil
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import tvm_ffi
from models import STATIC, build, numbers

from legato.core.errors import LegatoError
from legato.runtime import load
from legato.runtime.packed import resolve

X, WEIGHT = np.ones((4, 8), np.float32), numbers(4, 8)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return build(STATIC, {"w": WEIGHT}).save(tmp_path_factory.mktemp("saved") / "model.legato")


def mapped(path):
    """The number of mappings of code or weights of that name. (tvm-ffi reads symbols for its first traceback, and keeps them mapped.)"""
    gc.collect()
    with open("/proc/self/maps") as maps:
        return sum(str(path) in line and (" r-xp " in line or ".weights" in line) for line in maps)


def test_three_hundred_loads_leave_nothing(saved):
    executable = load(saved)
    for i in range(300):
        executable = load(saved)
        if i % 100 == 0:
            executable(X)
    assert mapped(saved) > 0
    del executable
    assert mapped(saved) == 0


def test_copies_loaded_at_the_same_time(saved, tmp_path):
    paths = [load(saved).save(tmp_path / f"{i}.legato") for i in range(20)]
    loaded = [load(path) for path in paths] + [load(path) for path in paths]
    assert all(mapped(path) for path in paths)
    del loaded[::2]
    np.testing.assert_array_equal(loaded[0](X), WEIGHT + 2)
    del loaded
    assert mapped(tmp_path) == 0


def test_what_outlives_the_executable(saved):
    """A function keeps the library; results, and errors, do not need it."""
    executable = load(saved)
    function, result = executable.function, executable(X)
    tensor = function(tvm_ffi.from_dlpack(X))
    del executable
    np.testing.assert_array_equal(np.from_dlpack(function(X)), WEIGHT + 2)
    caught = None
    try:
        function(X[:2])
    except ValueError as error:
        caught = error
    assert mapped(saved) > 0
    del function
    assert caught is not None and "must be float32[4, 8]" in str(caught)
    del caught
    assert mapped(saved) == 0
    np.testing.assert_array_equal(result, WEIGHT + 2)
    np.testing.assert_array_equal(np.from_dlpack(tensor), WEIGHT + 2)
    del tensor, result


def test_shared_objects_of_backends_stay_loaded_once_for_each_content(saved):
    """Their code may have threads and destructors of its own, so they are not unloaded; what a model brings again is not loaded again."""
    data = np.frombuffer(saved.read_bytes(), np.uint8)
    artifact = {"kind": "shared", "backend": "b", "functions": {"create": "b.create"}, "data": data}

    def loaded():
        assert resolve(["b.create"], [artifact], "the model")
        with pytest.raises(LegatoError, match="does not give the function 'none'"):
            resolve(["b.create"], [{**artifact, "symbols": {"create": "none"}}], "the model")
        with open("/proc/self/maps") as maps:
            return sum("legato-" in line and ".so" in line for line in maps)

    first = loaded()
    assert first > 0 and {loaded() for _ in range(5)} == {first}


def ends_well(script, *arguments):
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


def test_at_the_end_of_the_process(saved):
    """Registered functions, globals and reference cycles are dropped late, in any order."""
    ends_well("""
        import sys, numpy as np, tvm_ffi
        from legato.runtime import load
        x = np.ones((4, 8), np.float32)
        executable = load(sys.argv[1])
        tvm_ffi.register_global_func("kept", load(sys.argv[1]).function)
        tvm_ffi.get_global_func("kept")(x)
        class Cycle: pass
        cycle = Cycle(); cycle.self, cycle.function, cycle.result = cycle, load(sys.argv[1]).function, executable(x)
        print("end")
    """, saved)


def test_loads_and_drops_on_several_threads(saved):
    ends_well("""
        import sys, threading, numpy as np
        from legato.runtime import load
        x = np.ones((4, 8), np.float32)
        def work():
            for _ in range(40):
                y = load(sys.argv[1])(x)
            assert y.shape == (4, 8)
        workers = [threading.Thread(target=work) for _ in range(4)]
        [one.start() for one in workers]
        [one.join() for one in workers]
        assert sys.argv[1] not in open("/proc/self/maps").read()
        print("end")
    """, saved)


def test_code_that_ran_on_several_threads(tmp_path):
    """The threads of a model's pool end before its code is gone."""
    source = tmp_path / "make.py"
    source.write_text(textwrap.dedent("""
        import sys, legato
        from legato.script import relax
        @relax.function
        def main(x: relax.Tensor((4096, 512), "float32")):
            with relax.dataflow():
                y = relax.nn.relu(relax.exp(x))
                relax.output(y)
            return y
        legato.compile(main, target="llvm{threads=2}").save(sys.argv[1])
    """))
    subprocess.run([sys.executable, str(source), str(tmp_path / "a.legato")], check=True)
    assert b"pthread_create" in (tmp_path / "a.legato").read_bytes()
    shutil.copy(tmp_path / "a.legato", tmp_path / "b.legato")
    ends_well("""
        import sys, numpy as np
        from legato.runtime import load
        x = np.ones((4096, 512), np.float32)
        for i in range(20):
            y = load(sys.argv[1 + i % 2])(x)
        assert sys.argv[1] not in open("/proc/self/maps").read()
        assert np.allclose(y, np.exp(1))
        print("end")
    """, tmp_path / "a.legato", tmp_path / "b.legato")
