"""The evaluator of index arithmetic.

``arithmetic`` says what each op on integers means, once; it computes with numbers of a kind that its user chooses:

- ``forms``: sums of variables times constants, with quotients (``linear``), and the ranges of them;
- ``sizes``: expressions of the symbols of a signature;
- ``points``: numpy arrays with a value for each thread of a block and each step of loops.

``conditions`` reads comparisons as forms that are at least 0, ``build`` makes IR of forms.
"""
