"""What a compile imports before it knows whether the cache has the model."""
import subprocess
import sys


def test_no_linalg_before_a_model_is_lowered():
    code = ("import sys, legato; legato.from_onnx, legato.compile; from legato.codegen import jit; from legato import compile_cache; "
            "print([name for name in sys.modules if name.endswith('dialects.linalg') or 'dialects._linalg' in name])")
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


def test_no_masked_arrays_before_one_is_given():
    code = "import sys, legato; legato.from_onnx, legato.compile; from legato.runtime import arrays; print('numpy.ma' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "False"
