"""docs/special-values.md: each row of its table, compiled and run."""
import re
from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import legato

PAGE = Path(__file__).parents[2] / "docs" / "special-values.md"
ROW = re.compile(r"^\| `(?P<op>\w+)(?:\((?P<attributes>[^)]*)\))?` \| `(?P<inputs>[^`]+)` \| `(?P<result>[^`]+)` \|", re.M)
NUMBERS = {"nan": np.nan, "inf": np.inf}


def arrays(text: str) -> list[np.ndarray]:
    """``[1, nan] f32; [0] i64`` as arrays."""
    made = []
    for part in text.split("; "):
        values, dtype = part.rsplit(" ", 1)
        made.append(np.array(eval(values, NUMBERS), {"f": "float", "i": "int", "u": "uint", "b": "bool"}[dtype[0]] + dtype[1:]))
    return made


ROWS = [row.groupdict() for row in ROW.finditer(PAGE.read_text())]


def test_the_page_has_rows():
    assert len(ROWS) == PAGE.read_text().count("\n| `") > 20


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['op']} {row['inputs']}" for row in ROWS])
def test_row(row):
    inputs = arrays(row["inputs"])
    names = [f"x{n}" for n in range(len(inputs))]
    given = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for name, a in zip(names, inputs)]
    attributes = eval(f"dict({row['attributes'] or ''})")
    outputs = ["", "y"] if row["op"] == "TopK" else ["y"]
    constants = {}
    if row["op"] == "TopK" or row["op"].startswith("Reduce"):
        constants, given = {names[1]: inputs.pop()}, given[:1]
    tensors = [helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape, a.ravel()) for name, a in constants.items()]
    graph = helper.make_graph([helper.make_node(row["op"], names, outputs, **attributes)], "g", given,
                              [helper.make_empty_tensor_value_info("y")], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    found = np.asarray(legato.compile(legato.from_onnx(model))(*inputs))
    (wanted,) = arrays(row["result"])
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)
    if found.dtype.kind == "f":
        numbers = ~np.isnan(found)
        np.testing.assert_array_equal(np.signbit(found[numbers]), np.signbit(wanted[numbers]))
