"""What the generic rules build: a rule for each op, kernels tied to their outputs, forms that schedules and upstream's passes know."""

import numpy as np
import pytest
from generic_samples import normal
from one_op import Case, computed, difference, legalized
from test_generic_contractions import (
    conv_cases,
    convolution,
    float8_cases,
    integer_cases,
    matmul_cases,
    pool_cases,
    quantized_cases,
    region_cases,
    transposed_cases,
    turned_cases,
)
from test_generic_elementwise import binary_cases, other_cases, unary_cases
from test_generic_movement import CASES as MOVEMENT
from test_generic_reductions import arg_cases, cumulative_cases, norm_cases, reduction_cases, softmax_cases, suppression_cases, topk_cases

from legato.core.mlir import interpreter, ir
from legato.dialects import relax, tir
from legato.targets import generic

FAMILIES = [
    unary_cases,
    binary_cases,
    other_cases,
    reduction_cases,
    arg_cases,
    cumulative_cases,
    topk_cases,
    suppression_cases,
    softmax_cases,
    norm_cases,
    matmul_cases,
    integer_cases,
    float8_cases,
    turned_cases,
    quantized_cases,
    conv_cases,
    transposed_cases,
    pool_cases,
    region_cases,
    *MOVEMENT,
]
THROUGH = {"tensor.collapse_shape": 0, "tensor.expand_shape": 0, "tensor.extract_slice": 0, "tensor.insert_slice": 1, "tensor.insert": 1}


def test_every_op_has_a_rule():
    rules = {rule.op for rule in generic.RULES}
    ops = {cls.OPERATION_NAME for cls in relax.OPS.values()} - {"relax.constant"}
    assert ops - rules == set()
    assert rules - ops == set()


def test_every_op_is_swept():
    swept = {case.op for family in FAMILIES for case in family()}
    counted = {"nonzero", "size_of", "name_sizes"}   # test_generic_count.py
    assert set(relax.OPS) - {"constant"} - counted - swept == set()


def written_into(value: ir.Value) -> ir.Value:
    """The tensor whose buffer a value comes to lie in."""
    while not isinstance(value.owner, ir.Block):
        op, number = value.owner, ir.OpResult(value).result_number
        if op.name.startswith("linalg."):
            value = op.operands[len(op.operands) - len(op.results) + number]
        elif op.name == "scf.for":
            value = op.operands[3 + number]
        elif op.name in THROUGH:
            value = op.operands[THROUGH[op.name]]
        else:
            break
    return value


@pytest.mark.parametrize("family", FAMILIES)
def test_kernels_are_plain_and_write_their_outputs(family):
    module = legalized(list(family()))
    for kernel in tir.prim_funcs(module.module):
        block = kernel.body.blocks[0]
        assert all(tir.plain_type(a.type) == a.type for a in block.arguments)
        (result,) = block.operations[len(block.operations) - 1].operands
        assert written_into(result) == block.arguments[len(block.arguments) - 1], str(kernel)


def kernel_of(case: Case) -> str:
    module = legalized([case])
    (kernel,) = tir.prim_funcs(module.module)
    return str(kernel)


@pytest.mark.parametrize(
    ("case", "op"),
    [
        (Case("matmul", [normal(4, 5), normal(5, 3)]), "linalg.matmul"),
        (Case("matmul", [normal(2, 4, 5), normal(2, 5, 3)]), "linalg.batch_matmul"),
        (Case("matmul", [normal(4, 5, dtype="float16"), normal(5, 3, dtype="float16")]), ": tensor<4x3xf32>) -> tensor<4x3xf32>"),
        (convolution(2, normal(1, 3, 6, 5), normal(4, 3, 3, 2), "NHWC", "HWIO"), "linalg.conv_2d_nhwc_hwcf"),
        (convolution(2, normal(1, 3, 6, 5), normal(4, 3, 3, 2)), "linalg.conv_2d_nchw_fchw"),
        (convolution(2, normal(1, 4, 6, 5), normal(4, 1, 3, 2), "NHWC", "HWIO", groups=4), "linalg.depthwise_conv_2d_nhwc_hwc"),
        (Case("max_pool2d", [normal(1, 5, 5, 3)], {"kernel": [2, 2], "layout": "NHWC"}), "linalg.pooling_nhwc_max"),
        (Case("max_pool2d", [normal(1, 5, 5, 3, dtype="float16")], {"kernel": [2, 2], "layout": "NHWC"}), "-> tensor<1x4x4x3xf32>"),
        (Case("avg_pool2d", [normal(1, 5, 5, 3)], {"kernel": [2, 2], "layout": "NHWC"}), "linalg.pooling_nhwc_sum"),
        (Case("permute_dims", [normal(2, 3)], {"axes": [1, 0]}), "linalg.transpose"),
    ],
)
def test_named_ops(case, op):
    assert op in kernel_of(case)


def test_matmul_broadcasts_by_maps():
    text = kernel_of(Case("matmul", [normal(2, 1, 4, 5), normal(1, 3, 5, 2)]))
    assert '["parallel", "parallel", "parallel", "parallel", "reduction"]' in text
    assert "tensor.collapse_shape %arg0" in text  # the unit dimension of the batch: indices are loops only
    assert text.count("linalg.generic") == 1


def test_elementwise_is_one_loop_nest_that_vectorizes():
    cases = [
        Case("add", [normal(4, 8), normal(8)]),
        Case("gelu", [normal(4, 8)]),
        Case("where", [normal(4, 8) > 0, normal(4, 1), normal(1, 8)]),
        Case("maximum", [normal(1, 4, 8), normal(1, 4, 1)]),
        Case("astype", [normal(4, 8)], {"dtype": "i8"}),
    ]
    module = legalized(cases)
    assert str(module).count("linalg.generic") == len(cases)
    with module.context, ir.Location.unknown():
        script = ir.Module.parse("""module attributes {transform.with_named_sequence} {
            transform.named_sequence @__transform_main(%root: !transform.any_op) {
              %loops = transform.structured.match interface{LinalgOp} in %root : (!transform.any_op) -> !transform.any_op
              transform.structured.vectorize %loops : !transform.any_op
              transform.yield } }""")
        interpreter.apply_named_sequence(module.module, script.body.operations[0], script)
    assert "linalg." not in str(module)


def test_relu_is_a_compare_and_a_select():
    text = kernel_of(Case("relu", [normal(4)]))
    assert "arith.cmpf olt" in text
    assert "maximumf" not in text


def test_a_scalar_constant_goes_into_the_body():
    text = kernel_of(Case("multiply", [normal(4, 3), np.float32(2)], constants=(1,)))
    assert "ins(%arg0 : tensor<4x3xf32>)" in text


def test_indices_out_of_range_stay_inside():
    x, far = np.arange(6, dtype=np.float32), np.array([100, -100, 5, -6, 2**62], np.int64)
    for found in computed([Case("take", [x, far]), Case("gather_elements", [x, far]), Case("gather_nd", [x, far[:, None]])]):
        np.testing.assert_array_equal(found, [5, 0, 5, 0, 5])


def test_integer_division_never_traps():
    a, b = np.array([7, -7, -(2**31), -(2**31)], np.int32), np.array([0, 0, -1, 0], np.int32)
    expected = {"divide": [0, 0, -(2**31), 0], "floor_divide": [0, 0, -(2**31), 0], "mod": [0, 0, 0, 0]}
    for op, found in zip(expected, computed([Case(op, [a, b]) for op in expected]), strict=True):
        np.testing.assert_array_equal(found, expected[op])


def test_float_to_integer_saturates():
    x = np.array([np.nan, np.inf, -np.inf, 1e20, -1e20, 300.7, -300.7, 127.9, -128.9], np.float32)
    i8, ui8, i64, i32 = computed([Case("astype", [x], {"dtype": d}) for d in ("i8", "ui8", "i64", "i32")])
    np.testing.assert_array_equal(i8, [0, 127, -128, 127, -128, 127, -128, 127, -128])
    np.testing.assert_array_equal(ui8, [0, 255, 0, 255, 0, 255, 0, 127, 0])
    high, low = 2**63 - 1, -(2**63)
    np.testing.assert_array_equal(i64, [0, high, low, high, low, 300, -300, 127, -128])
    assert i32.tolist()[1:5] == [2**31 - 1, -(2**31)] * 2


def test_sizes_without_a_name_broadcast_at_run_time():
    """The rule's kernel; the passes on graphs would name the size, and two names do not broadcast."""
    cases = [Case("add", [normal(4, 3), normal(count, 3)], shapes=[["n", 3], ["?", 3]], symbols={"n": 4}) for count in (1, 4)]
    for case, found in zip(cases, computed(cases, from_stage="relax"), strict=True):
        assert difference(found, case.expected()) is None


@pytest.mark.parametrize(
    "case",
    [
        Case("astype", [np.zeros(3, np.uint8)], {"dtype": "i8"}),
        Case("relu", [np.zeros(3, np.uint16)]),
        Case("broadcast_to", [normal(4, 3)], {"shape": ["n", 3]}, shapes=[["n", 3]], symbols={"n": 4}),
        Case("tile", [normal(2, 3)], {"repeats": [1, 1]}),
        Case("sum", [normal(2, 3)], {"axis": []}),
        Case("permute_dims", [normal(1, 3, 4)], {"axes": [1, 0, 2]}),
    ],
)
def test_what_changes_nothing_has_no_kernel(case):
    module = legalized([case])
    assert not tir.prim_funcs(module.module)
