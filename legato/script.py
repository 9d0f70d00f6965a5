"""The script language: kernels and graphs as Python functions, in the manner of TVMScript.

    from legato.script import ir as I, relax as R, tir as T

    @T.prim_func
    def double(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        for i in T.serial(128):
            with T.block("B"):
                vi = T.axis.spatial(128, i)
                B[vi] = A[vi] * 2.0

    y = legato.compile(double)(x)

``from legato import ir_module, relax, tir`` gives the same by longer names: ``@tir.prim_func``, ``@relax.function``, ``@ir_module``.
"""
from typing import TYPE_CHECKING

from legato.core.deprecated import renamed_names
from legato.frontends.script import I, R, T, parse
from legato.frontends.script.decorators import ir_module

ir, relax, tir = I, R, T
dataflow = R.dataflow
__getattr__ = renamed_names(__name__, {"module": "ir_module"})

if TYPE_CHECKING:
    from legato.dialects import Module


def print_script(module: "Module") -> str:
    """The module as the source of a script, which ``parse`` reads; structured kernels are printed as loops. LegatoError, naming the
    function and the op, for an op that scripts cannot express."""
    from legato.frontends.script import print_script
    from legato.passes.loops.to_loops import ToLoops
    from legato.passes.pipeline.base import PassContext

    module = module.clone()
    ToLoops().run(module, PassContext())
    with module.context:
        return print_script(module)


__all__ = ["I", "R", "T", "dataflow", "ir", "ir_module", "parse", "print_script", "relax", "tir"]


def __dir__() -> list[str]:
    return __all__
