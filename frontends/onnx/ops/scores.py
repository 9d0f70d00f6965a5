"""Scores of classes in the domain ``ai.onnx.ml``: what is made of them, and which class they decide for, as onnxruntime has it."""
import numpy as np

from legato.core.mlir import ir
from legato.dialects import relax
from legato.frontends.onnx.problems import Malformed, Refused

POST_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
_NOTHING = 1e-7     # scores that SOFTMAX_ZERO takes for 0


def _like(scores: ir.Value, value: float) -> ir.Value:
    return relax.constant(np.array(value, relax.TensorType.of(scores.type).dtype))


def transformed(scores: ir.Value, post: str) -> ir.Value:
    """Scores [rows, classes] after a post_transform."""
    match post:
        case "LOGISTIC":
            return relax.sigmoid(scores)
        case "SOFTMAX":
            return relax.softmax(scores, axis=-1)
        case "SOFTMAX_ZERO":
            top = relax.max(scores, axis=[-1], keepdims=True)
            small = relax.less_equal(relax.abs(scores), _like(scores, _NOTHING))
            powers = relax.where(small, relax.multiply(scores, relax.exp(relax.negative(top))), relax.exp(relax.subtract(scores, top)))
            return relax.divide(powers, relax.sum(powers, axis=[-1], keepdims=True))
        case "PROBIT":
            raise Refused("post_transform = 'PROBIT' is not supported")
    return scores


def regressed(scores: ir.Value, post: str) -> ir.Value:
    """Results of a regression [rows, targets] after a post_transform."""
    if post != "NONE" and relax.TensorType.of(scores.type).dims[1] == 1:
        raise Refused(f"post_transform = '{post}' of a single target is not supported: onnxruntime leaves it out")
    return transformed(scores, post)


def decide(scores: ir.Value, post: str, how: str) -> tuple[ir.Value, ir.Value]:
    """The number of the class [rows], and the scores of all classes. ``how``: ``greatest`` of many; of a single column the second class, if
    it is above 1/2 (``probability``) or 0; the score of the first class is its complement to 1, or the negative (``sign``)."""
    if how == "greatest":
        return relax.argmax(scores, axis=-1), transformed(scores, post)
    second = relax.greater(scores, _like(scores, 0.5 if how == "probability" else 0.0))
    chosen = relax.astype(relax.squeeze(second, axis=[1]), dtype=np.int64)
    first = relax.negative(scores) if how == "sign" else relax.subtract(_like(scores, 1.0), scores)
    if post == "LOGISTIC":
        return chosen, relax.sigmoid(relax.concat([relax.negative(scores), scores], axis=1))
    if post == "PROBIT":
        transformed(scores, post)
    return chosen, relax.concat([first, scores], axis=1)


def labels_of(node, name: str, ints: str) -> tuple[np.ndarray | None, int]:
    """The classes of a classifier, from the attribute ``ints`` or ``NAME_strings``, and their number; None if they are strings."""
    strings, numbers = node.strings(f"{name}_strings", []), node.integers(ints, [])
    if bool(strings) == bool(numbers):
        raise Malformed(f"it needs either {name}_strings or {ints}")
    return (None, len(strings)) if strings else (np.array(numbers, np.int64), len(numbers))
