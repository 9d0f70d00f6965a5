"""What folding does to the weight store: new entries come, old ones go at once, views stay views."""
import numpy as np
from graphs import apply, build, check, names, weights

from legato.core.mlir import ir
from legato.dialects import relax
from legato.passes.graph.fold_constants import FoldConstants


def test_a_permuted_weight_is_a_view_of_the_old_bytes():
    module = build([[2, 64]], lambda x: relax.matmul(x, relax.permute_dims(weights(32, 64), [1, 0])))
    (old,) = module.weights.values()
    check(module, [FoldConstants()])
    (new,) = module.weights.values()
    assert names(module) == ["matmul"] and new.shape == (64, 32) and np.shares_memory(new, old)


def test_a_part_of_a_weight_does_not_hold_the_whole():
    module = build([[2, 64]], lambda x: relax.add(x, relax.strided_slice(weights(64, 64), [0], [8], axes=[0], strides=[4])))
    (old,) = module.weights.values()
    apply(module, [FoldConstants()])
    (constant,) = module.constants()
    assert constant.weight is None  # 512 bytes stand in the IR
    module = build([[16, 64]], lambda x: relax.add(x, relax.strided_slice(weights(64, 64), [0], [16], axes=[0])))
    (old,) = module.weights.values()
    apply(module, [FoldConstants()])
    (new,) = module.weights.values()
    assert new.shape == (16, 64) and not np.shares_memory(new, old)


def test_a_weight_with_another_use_stays():
    def body(x):
        w = weights(64, 64)
        return relax.matmul(relax.matmul(x, w), relax.permute_dims(w, [1, 0]))

    module = check(build([[2, 64]], body), [FoldConstants()])
    assert len(module.weights) == 2 and len(module.constants()) == 2


def test_one_weight_named_by_two_constants_stays_for_the_other():
    def body(x):
        w = weights(64, 64)
        again = relax.weight(ir.StringAttr(w.owner.attributes["weight"]).value, np.float32, [64, 64])
        return relax.matmul(relax.matmul(x, w), relax.permute_dims(again, [1, 0]))

    module = check(build([[2, 64]], body), [FoldConstants()])
    assert len(module.weights) == 2


def test_weights_that_nothing_uses_go():
    def body(x):
        weights(64, 64)
        return relax.exp(x)

    module = check(build([[2, 64]], body), [FoldConstants()])
    assert len(module.weights) == 0 and names(module) == ["exp"]


def test_one_constant_twice_in_one_op():
    def body(x):
        w = weights(4, 4)
        return relax.add(x, relax.concat([relax.multiply(w, w), w], 0))

    module = check(build([[8, 4]], body), [FoldConstants()])
    assert names(module) == ["add"]


def test_splats_stay_small():
    module = build([[512, 512]], lambda x: relax.add(x, relax.broadcast_to(relax.constant(np.float32(2)), [512, 512])))
    check(module, [FoldConstants()])
    (constant,) = module.constants()
    assert constant.weight is None and len(str(module)) < 1000
