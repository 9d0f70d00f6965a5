"""Names of relax's attributes, except those that ops declare themselves."""

# On graph functions, before and after legalization
NAME = "relax.name"                # of an argument or a result: its name in the model
INPUT_FORMS = "relax.input_forms"    # on main, if an input of the model is no tensor: rows of (name), (name of a sequence, its length) and
OUTPUT_FORMS = "relax.output_forms"  # (name of an optional without a value, -1); likewise of its outputs, and of an output whose number of
                                     # tensors a call decides (name, -2, layout): runtime/forms.py
SIGNATURE = "relax.signature"      # the function type with its symbolic sizes, which plain types do not have
WEIGHT = "relax.weight"            # of an argument of main: the key of its weight
DEFAULT = "relax.default"          # of an argument of main: the key of the weight that calls without this argument take for it
CONSTANT_INPUTS = "relax.constant_inputs"  # on main: the names of the model's inputs that are constants here, for messages
REQUIRES = "relax.requires"        # on main: rows of (a size that must not be negative, a text for people, the size it must equal instead)
                                   # on a call of tir.markers.REQUIRE in a branch or loop: one such row
REGION_REQUIRES = "relax.region_requires"  # on main, once memory is planned: likewise, of what its branches and loops require
DONATED = "relax.donated"          # on main: for each output, the number of the input whose memory it takes; -1 for memory of its own
BYTES = "relax.bytes"              # on main: rows of (a size in bytes that must not exceed LARGEST, a text for people)
SYMBOL = "relax.symbol"            # on an op of main whose result is the value of a symbol; later sizes may depend on it

# On products
ROWS_IN_BYTES = "relax.rows_in_bytes"      # of a matmul: rows may be rounded to bytes, if the weight is of few bits

# On modules
INLINE_WEIGHTS = "relax.inline_weights"  # in text for a pipe: the weights, by key

# On calls of kernels
OPS = "relax.ops"                  # the graph ops that the call computes: "relax.conv2d", or with the model's name "relax.conv2d Conv_0"
WORK = "relax.work"                # the arithmetic operations of the call, and the bytes that it reads and writes: expressions of symbols

# On declarations of packed functions
PACKED = "relax.packed"            # the packed function's name
RETURNS = "relax.returns"          # the function allocates its results (call_packed)
ARGUMENTS = "relax.arguments"      # all arguments, if some are not tensors
PURE = "relax.pure"                # the function has no side effects: calls may be merged and erased
SIZES = "relax.sizes"              # the sizes passed as its last arguments

# On main, about the packed functions it calls
PACKED_NAMES = "relax.packed_functions"  # their names, in the order of the table that main's argument ``tir.functions`` points to
CALLERS = "relax.packed_callers"   # for each of them a description of its callers
PACKED_RESULTS = "relax.packed_results"  # what they return: see passes/calls/lower_packed.py
LATE_SYMBOLS = "relax.late_symbols"  # the symbols defined by their results

# Partitions
CODEGEN = "relax.codegen"          # on a module or a function: the backend that generates its code
COMPOSITE = "relax.composite"      # on a function made of a match: "backend.pattern"
EXTERNAL = "relax.external"        # on a declaration: the function of an external module that it refers to
VETO = "relax.veto"                # on a function: why it is not given to its backend
ARTIFACTS = "relax.artifacts"      # on an external module: what its backend generated
