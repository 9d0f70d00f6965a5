"""The script language under Legato's own names, ``from legato import ir_module, relax, tir``."""
import numpy as np

import legato
from legato import relax, tir


@legato.ir_module
class Model:
    @tir.prim_func
    def plus_one(A: tir.Buffer((8,), "float32"), B: tir.Buffer((8,), "float32")):
        for i in tir.grid(8):
            with tir.block("B"):
                vi = tir.axis.remap("S", [i])
                B[vi] = A[vi] + tir.float32(1)

    @relax.function
    def main(x: relax.Tensor((8,), "float32")):
        cls = Model
        return relax.call_tir(cls.plus_one, (x,), out_sinfo=relax.Tensor((8,), "float32"))


def test_a_module_in_own_names():
    x = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(legato.compile(Model)(x), x + 1)


def test_they_are_what_the_script_module_has():
    from legato.script import I, R, T

    assert (legato.ir_module, legato.relax, legato.tir) == (I.ir_module, R, T)


def test_words_by_their_module():
    from legato import script

    @script.relax.function
    def negated(x: script.relax.Tensor((8,), "float32")):
        return script.relax.negative(script.relax.exp(x))

    x = np.arange(8, dtype=np.float32)
    np.testing.assert_allclose(legato.compile(negated)(x), -np.exp(x), rtol=1e-5)
