"""The evaluator of index arithmetic.

``arithmetic`` defines each integer op once, over a kind of numbers that the user chooses:

- ``forms``: linear forms of variables, with quotients (``linear``), and their ranges;
- ``sizes``: expressions of the symbols of a signature;
- ``points``: numpy arrays with a value for each thread of a block and each iteration of loops.

``conditions`` reads comparisons as forms that are at least 0; ``build`` builds IR from forms.
"""
