"""Growth by elementwise nodes."""
import ml_dtypes
import numpy as np
from graph_builder import BOOL, F16, F32, F64, I32, I64, INTS, Graph, is_float, weighted
from onnx import helper

UNARY = ("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "HardSwish", "Log",
         "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan",
         "Tanh", "Celu", "Gelu", "HardSigmoid", "LeakyRelu", "ThresholdedRelu", "Identity")
ATTRIBUTES = {"Elu": {"alpha": 0.7}, "Celu": {"alpha": 1.5}, "HardSigmoid": {"alpha": 0.25, "beta": 0.4}, "LeakyRelu": {"alpha": 0.1},
              "ThresholdedRelu": {"alpha": 0.3}, "Selu": {"alpha": 1.2, "gamma": 1.1}}


def unary(g: Graph) -> None:
    value = g.float_value()
    if value:
        op = g.rng.choice(UNARY)
        attributes = ATTRIBUTES.get(op, {}) if g.rng.random() < 0.5 else {}
        if op == "Gelu" and g.rng.random() < 0.5:
            attributes = {"approximate": "tanh"}
        g.add(op, [value], value.dtype, **attributes)


def unary_integer(g: Graph) -> None:
    value = g.pick(lambda v: v.dtype in INTS)
    if value:
        signed = ("Abs", "Neg", "Sign") if value.dtype.kind == "i" else ("Identity", "Sign")
        g.add(g.rng.choice((*signed, "BitwiseNot")), [value], value.dtype)


def binary(g: Graph) -> None:
    value = g.pick(lambda v: v.dtype != BOOL)
    if value:
        op, operands = g.rng.choice(("Add", "Sub", "Mul", "Add", "Mul", "Div")), _either(g, value)
        if op == "Div" and not is_float(value.dtype) and not all(array.all() for array in operands[1].arrays):
            op = "Mul"   # a quotient of integers by 0 is not defined
        g.add(op, operands, value.dtype)


def _either(g: Graph, value, dtype=None, broadcast: bool = True):
    """A value and an operand that fits it, in either order; sometimes itself."""
    other = value if g.rng.random() < 0.08 else g.of_shape(value, dtype, broadcast)
    return [value, other] if g.rng.random() < 0.7 else [other, value]


def quotient_of_safe(g: Graph) -> None:
    """A division by what is not near 0."""
    value = g.float_value()
    if value:
        squared = g.add("Mul", [value, value], value.dtype)
        one = g.constant(np.array(1.0), value.dtype)
        below = squared and g.add("Add", [squared[0], one], value.dtype)
        if below:
            g.add("Div", [g.of_shape(value), below[0]], value.dtype)


def power(g: Graph) -> None:
    value = g.float_value()
    if value:
        exponent = g.constant(np.array(g.rng.choice((2.0, 3.0, 0.5, -1.0, 1.0, 0.0))), value.dtype)
        g.add("Pow", [value, exponent if g.rng.random() < 0.8 else g.of_shape(value)], value.dtype)


def modulo(g: Graph) -> None:
    value = g.pick(lambda v: v.dtype in INTS or v.dtype in (F32, F64))
    if value:
        other = g.of_shape(value)
        if not any((array == 0).any() for array in other.arrays):
            fmod = 1 if is_float(value.dtype) else g.rng.randint(0, 1)
            g.add("Mod", [value, other], value.dtype, fmod=fmod)


def variadic(g: Graph) -> None:
    value = g.pick(lambda v: is_float(v.dtype) or v.dtype in (I32, I64))
    if value:
        op = g.rng.choice(("Max", "Min", "Sum", "Mean") if is_float(value.dtype) else ("Max", "Min"))
        g.add(op, [value, *(g.of_shape(value) for _ in range(g.rng.randint(0, 2)))], value.dtype)


def comparison(g: Graph) -> None:
    value = g.pick(lambda v: v.dtype != BOOL)
    if value:
        g.add(g.rng.choice(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")), _either(g, value), BOOL)


def logic(g: Graph) -> None:
    value = g.pick(lambda v: v.dtype == BOOL)
    if value:
        op = g.rng.choice(("And", "Or", "Xor", "Not", "Equal"))
        g.add(op, [value] if op == "Not" else _either(g, value), BOOL)


def bitwise(g: Graph) -> None:
    value = g.pick(lambda v: v.dtype in INTS)
    if value:
        op = g.rng.choice(("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift"))
        if op != "BitShift":
            g.add(op, _either(g, value), value.dtype)
        elif value.dtype.kind == "u":
            by = g.constant(np.array(g.rng.randint(0, 7), value.dtype))
            g.add(op, [value, by], value.dtype, direction=g.rng.choice(("LEFT", "RIGHT")))


def where(g: Graph) -> None:
    value = g.pick()
    if value:
        test = g.of_shape(value, BOOL)
        g.add("Where", [test, *_either(g, value)], value.dtype)


def clip(g: Graph) -> None:
    value = g.pick(lambda v: is_float(v.dtype) or v.dtype in (I32, I64))
    if value:
        number = F64 if is_float(value.dtype) else value.dtype
        low, high = (g.constant(np.array(n).astype(number), value.dtype) for n in (-1, g.rng.choice((0, 1, 3))))
        g.add("Clip", [value, low if g.rng.random() < 0.8 else None, high if g.rng.random() < 0.8 else None], value.dtype)


def prelu(g: Graph) -> None:
    value = g.float_value()
    if value:
        g.add("PRelu", [value, g.of_shape(value)], value.dtype)


def cast(g: Graph) -> None:
    value = g.pick()
    if value:
        to = g.rng.choice((*g.floats, *g.floats, I64, I32, *INTS, BOOL))
        if not is_float(to) and to != BOOL and is_float(value.dtype):
            value = (g.add("Round" if g.rng.random() < 0.5 else "Floor", [value], value.dtype) or [value])[0]
        low, high = (0, 0) if to == BOOL or is_float(to) else (ml_dtypes.iinfo(to).min, ml_dtypes.iinfo(to).max)
        if to == BOOL or is_float(to) or all(low <= int(n) <= high for a in value.arrays for n in a.flat):
            made = g.add("Cast", [value], to, to=helper.np_dtype_to_tensor_dtype(to))
            for one in made:   # the reference rounds to the type; so do we
                one.arrays = [a.astype(to).astype(np.float64) for a in one.arrays] if is_float(to) else one.arrays


def predicate(g: Graph) -> None:
    value = g.float_value(lambda v: v.dtype in (F16, F32, F64))
    if value:
        g.add(g.rng.choice(("IsNaN", "IsInf")), [value], BOOL)


def repeated(g: Graph) -> None:
    """x op x, and a chain that reads one value several times."""
    value = g.float_value()
    if value:
        twice = g.add("Add", [value, value], value.dtype)
        if twice:
            g.add(g.rng.choice(("Mul", "Sub", "Max")), [twice[0], value], value.dtype)


ELEMENTWISE = weighted({unary: 8, unary_integer: 2, binary: 8, quotient_of_safe: 1, power: 1, modulo: 1, variadic: 2, comparison: 2,
                        logic: 2, bitwise: 2, where: 2, clip: 1, prelu: 1, cast: 4, predicate: 1, repeated: 1})
