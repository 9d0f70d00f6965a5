"""The tir dialect."""

from legato.core.emitted_once import emitted_once
from legato.core.mlir import ext, ir


class Tir(ext.Dialect, name="tir"):
    """Kernels. A kernel is a prim_func: a private ``func.func`` marked ``tir.prim_func``, in destination-passing style.

    - Its last arguments, marked ``tir.out``, are its outputs; it returns one value for each, of the same type.
    - Before bufferization its arguments are tensors, or ``index`` values for dynamic sizes.
    - Types are plain: no encodings, signless integers, booleans as bytes.
    - Its body is structured (linalg on tensors). A caller passes a fresh ``tensor.empty`` for each output.
    - It calls C functions, on scalars and addresses, by ``func.call`` of declarations marked ``tir.extern``, and packed functions of the
      run time, on buffers and scalars, by ``func.call`` of declarations marked ``tir.packed = "name"`` (``tir.dtypes``: the dtype
    of each
      operand as the callee sees it; ``relax.arguments``: all arguments, if some of them are constant strings or numbers).

    ```mlir
    func.func private @double(%x: tensor<4xf32>, %out: tensor<4xf32> {tir.out}) -> tensor<4xf32> attributes {tir.prim_func} {
      %y = linalg.add ins(%x, %x : tensor<4xf32>, tensor<4xf32>) outs(%out : tensor<4xf32>) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
    """

    @classmethod
    def _emit_module(cls) -> ir.Module:
        return emitted_once(cls, super()._emit_module)
