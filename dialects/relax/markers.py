"""The attribute names of relax: the one home of each. Ops' own attributes are declared with the ops."""

# On functions of graph ops and on what they become
NAME = "relax.name"                # of an argument or a result: what the model calls it
SIGNATURE = "relax.signature"      # the function type with its symbolic sizes, once the types have lost them
WEIGHT = "relax.weight"            # of an argument of main: the key of the weight that it holds
REQUIRES = "relax.requires"        # on main: rows of (a size that must not be negative, a text for people, the size it must equal instead)
SYMBOL = "relax.symbol"            # on an op of main whose result is the value of a symbol: sizes behind it may depend on it

# On calls of kernels
OPS = "relax.ops"                  # the graph ops that the call computes: "relax.conv2d", or with the model's name "relax.conv2d Conv_0"

# On declarations that stand for packed functions
PACKED = "relax.packed"            # the packed function's name
RETURNS = "relax.returns"          # the function allocates its results (call_packed)
ARGUMENTS = "relax.arguments"      # arguments that are no tensors
PURE = "relax.pure"                # the function has no effects: equal calls are one, and an unused one is none
SIZES = "relax.sizes"              # the sizes whose values are its last arguments

# On main, about the packed functions it calls
PACKED_NAMES = "relax.packed_functions"     # their names, in the order of the table that main's argument ``tir.functions`` points to
CALLERS = "relax.packed_callers"            # for each of them a text that says what calls it
PACKED_RESULTS = "relax.packed_results"     # what they return: see passes/calls/lower_packed.py
LATE_SYMBOLS = "relax.late_symbols"         # the symbols that their results give

# Partitions
CODEGEN = "relax.codegen"          # on a module or a function: the backend that generates its code
COMPOSITE = "relax.composite"      # on a function made of a match: "backend.pattern"
EXTERNAL = "relax.external"        # on a declaration: the function of an external module that it stands for
VETO = "relax.veto"                # on a function: why it is not given to its backend after all
ARTIFACTS = "relax.artifacts"      # on an external module: what its backend made of it
