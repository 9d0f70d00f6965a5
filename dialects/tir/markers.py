"""Names of tir's attributes, except those that ops declare themselves."""

# On kernels
PRIM_FUNC = "tir.prim_func"        # the function is a kernel in destination-passing style
OUT = "tir.out"                    # of an argument: an output
MAGNITUDE = "tir.magnitude"        # of an argument: no element of the floats that all calls give is greater, by its absolute value, or NaN
HOLDS_RESULT = "tir.holds_result"  # of an argument: the only result may lie in its memory, where each element is read before it is written
STATE = "tir.state"                # what may be done to the body: see state.py
SCHEDULE = "tir.schedule"          # the sequence that schedules the kernel; until it is applied the body must not change
SIGNATURE = "tir.signature"        # the function type with its symbolic sizes and unsigned types
NAMES = "tir.names"                # the parameters' names
INPLACE = "tir.inplace"            # for each output, the input that it updates in place; -1 for none
FLOPS_EACH = "tir.flops_each"      # the arithmetic operations for each element of its output, where its ops do not tell: vectors, branches
PIECE = "tir.piece"                # its output is what its input has from this byte on: a number, or a text on its sizes x0, x1, ...
FORM_OF = "tir.form_of"            # on a GPU: the kernel that this is a form of, for some numbers of rows
ROWS = "tir.rows"                  # of such a form: the least and the most, -1 for any, of what the kernel does not know of its rows
WRITES_ALL = "tir.writes_all"      # its author says that it writes every element of its outputs, which is not proven

# On main
ARENA = "tir.arena"                # of an argument: memory provided by the caller for main's intermediate buffers
FUNCTIONS = "tir.functions"        # of an argument: the table of packed functions
FRAME = "tir.frame"                # of an argument: the frame, which owns what a call must release at its end
HELD = "tir.held_results"          # the number of results of packed functions that the frame can hold
LATE_ARENAS = "tir.late_arenas"    # the number of arenas with data-dependent sizes that the frame can hold
RUN = "tir.run"                    # of an argument, of functions that launch kernels: the call that is under way, as an address
CHIP = "tir.chip"                  # the chip of NVIDIA's that the kernels are for
CUBIN = "tir.cubin"                # of main: machine code for that chip is wanted beside PTX
GRAPHS = "tir.graphs"              # of main: what it launches on NVIDIA's GPUs is submitted as a graph
KERNELS = "tir.kernels"            # the kernels' names, in the order of the entry's table
SITES = "tir.sites"                # for each call that launches kernels, the graph ops that it computes
MAIN_PROFILED = "main_profiled"    # the function that does what main does and records its calls
EVENTS = "tir.events"              # of an argument of @main_profiled: memory for the records of its calls
PROFILED = "tir.profiled"          # on @main_profiled: a row for each call that it records

# On declarations that kernels call
NAMED_SIZE = "legato.named_size"   # as KEEP_SIZE: takes a size of a tensor, and gives it as the value of a symbol
REQUIRE = "legato.require"         # likewise, with the number of its operands behind it: checks what a branch or loop requires
LATE = "legato.late"               # on a declaration: the kind of what main asks the entry for in the middle of a call
LATE_CHECK = "legato.late_check"   # such a kind: sizes that must fit, after the number of main's requirement
LATE_ARENA = "legato.late_arena"   # such a kind: memory for buffers of sizes that are known now, by the arena's number
LATE_RESULT = "legato.late_result"  # likewise for a result of main, by its number and shape
LATE_TURN = "legato.late_turn"     # likewise for what a loop carries to its next step
LATE_ROOM = "legato.late_room"     # on a function that computes what such a check compares
KEEP_SIZE = "legato.keep_size"     # a function that no code has: its calls keep sizes that depend on data until memory is planned
ENTRY = "legato.entry"              # on a declaration: the entry defines the function
OUT_OF_BOUNDS = "legato.out_of_bounds"   # the entry's function that takes the report of a bad index
FAULTS = "legato.faults"           # the entry's function that counts such reports
EXTERN = "tir.extern"              # the C function's name
STAND_IN = "tir.stand_in"          # the body says for bufferization only that the results are the outputs; tir-drop-results removes it
TIR_PACKED = "tir.packed"          # the packed function's name
DTYPES = "tir.dtypes"              # the element types of its tensors

# On launches, loops and allocations
SIDE_BY_SIDE = "tir.side_by_side"  # of a loop of main: the number of its group, whose loops do not depend on each other: threads run them
LOADS_TOGETHER = "tir.loads_together"     # of a loop whose loads are to be on their way together, from its annotation loads_together
RESIDENT_BLOCKS = "tir.resident_blocks"   # of a loop: the blocks of its kernel that a multiprocessor is to run at a time
STAGES = "tir.stages"              # of a loop: the steps that have shared buffers of their own, from its annotation pipeline_stages
TENSOR_MAPS = "tir.tensor_maps"    # of a kernel: how many of its last parameters are tensor maps
PASSED = "tir.passed"              # of a lowered kernel: which words of its launches' operands, as descriptors, are its parameters
BF16_MATRICES = "tir.bf16_matrices"   # of a kernel: the elements of the matrices that it multiplies are bf16, in the guise of f16
SHARED_NAMES = "tir.shared"        # of a launch: the names of its shared buffers
FACTOR_TYPES = "tir.factor_types"  # of a product of matrices of bytes: the types of both factors, s8 or u8
BUFFER_NAME = "tir.name"           # of an allocation: the buffer's name
THREADS = "tir.threads"   # on the llvm.func of a parallel loop's steps: the number of threads that compute them

# On ops that stand for others
DOT_PRODUCT = "tir.dot_product"    # of a bit field's extraction: SPIR-V's dot product of two words of bytes, added to the third operand

# On convolutions of integers of 16 bits
OF_BYTES = "tir.of_bytes"          # the images are of bytes that were widened: from -128 to 255

# On divisions
ESTIMATE = "tir.estimate"          # of 1 by a normal number: a relative error of 2^-14 is corrected by what follows

# On roundings to bf16
FLUSHES = "tir.flushes"            # denormal results may be zeros: what reads them takes them for zeros

# On exponentials
WEIGHS = "tir.weighs"              # a weight of a softmax: of no positive number, exact beside 1, and 0 in place of a denormal
