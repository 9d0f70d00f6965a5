"""T.call_extern: functions of C, called from kernels."""
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from legato.core.errors import LegatoError
from legato.runtime import load
from legato.script import T

F = "float32"

EXTERNAL = """
float dot(const float* a, const float* b, int n) { float s = 0; for (int i = 0; i < n; ++i) s += a[i] * b[i]; return s; }
void scale(const double* from, double* to, int n, double by) { for (int i = 0; i < n; ++i) to[i] = from[i] * by; }
long long add(const signed char* a, short b, long long c) { return a[0] + b + c; }
double widest(const unsigned char* a, int n) { unsigned char m = 0; for (int i = 0; i < n; ++i) m = a[i] > m ? a[i] : m; return m; }
"""


@T.prim_func
def calls_c(A: T.Buffer((4, 8), F), D: T.Buffer((8,), "float64"), I8: T.Buffer((8,), "int8"), U8: T.Buffer((8,), "uint8"),
            B: T.Buffer((4,), F), E: T.Buffer((8,), "float64"), G: T.Buffer((8,), "int64"), H: T.Buffer((1,), "float64")):
    for i in range(4):
        B[i] = T.call_extern("float32", "legato_test_dot", T.address_of(A[i, 0]), A.access_ptr("r"), 8)
    for i in range(8):
        G[i] = T.call_extern("int64", "legato_test_add", T.address_of(I8[i]), T.int16(-7), T.int64(1) << T.int64(40))
        E[i] = T.float64(0)
    T.evaluate(T.call_extern("void", "legato_test_scale", D.data, E.access_ptr("w"), 8, T.float64(0.25)))
    H[0] = T.call_extern("float64", "legato_test_widest", U8.data, 8)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_functions_of_c(tmp_path):
    """In a process of its own, for the library's names stay known."""
    source = EXTERNAL
    for name in ("dot", "scale", "add", "widest"):
        source = source.replace(f" {name}(", f" legato_test_{name}(")
    (tmp_path / "c.c").write_text(source)
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", tmp_path / "c.so", tmp_path / "c.c"], check=True)
    program = f"""
import ctypes, importlib.util, sys, numpy as np
ctypes.CDLL({str(tmp_path / "c.so")!r}, ctypes.RTLD_GLOBAL)
spec = importlib.util.spec_from_file_location("kernels", {str(Path(__file__))!r})
kernels = sys.modules["kernels"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kernels)
import legato
rng = np.random.default_rng(0)
a, d = rng.random((4, 8)).astype("float32"), rng.random(8)
i8, u8 = np.arange(-4, 4, dtype="int8"), np.array([1, 200, 3, 255, 0, 9, 8, 7], "uint8")
exe = legato.compile(kernels.calls_c)
exe.save({str(tmp_path / "model.legato")!r})
b, e, g, h = exe(a, d, i8, u8)
np.testing.assert_allclose(b, a @ a[0], rtol=1e-5)
np.testing.assert_array_equal(e, d * 0.25)
np.testing.assert_array_equal(g, i8.astype("int64") - 7 + (1 << 40))
assert h[0] == 255
print("good")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "good", done.stderr
    with pytest.raises(LegatoError, match=r"calls 'legato_test_\w+', which no library has: first load the library that defines it"):
        load(tmp_path / "model.legato")
