"""Constants in graphs."""
import numpy as np

import legato
from legato.script import parse


def test_constants_of_all_types_as_operands():
    module = parse('''
@R.function
def main(x: R.Tensor((2,), "bool"), y: R.Tensor((2,), "uint8")):
    return R.concat([R.const([True, False], "bool"), x], axis=0), R.concat([R.const([200, 3], "uint8"), y], axis=0)
''')
    found = legato.compile(module)(np.array([False, True]), np.array([1, 255], np.uint8))
    assert [f.tolist() for f in found] == [[True, False, False, True], [200, 3, 1, 255]]
