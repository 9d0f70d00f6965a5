"""The attribute names of tir: the one home of each. Ops' own attributes are declared with the ops."""

# On kernels
PRIM_FUNC = "tir.prim_func"        # the function is a kernel in destination-passing style
OUT = "tir.out"                    # of an argument: an output
FIXED = "tir.fixed"                # the body stays as it is written: not fused, not scheduled
SCHEDULE = "tir.schedule"          # the sequence that schedules the kernel: it stays as it is until then
SCHEDULED = "tir.scheduled"        # the kernel's loops are as they are for a reason: they stay
SIGNATURE = "tir.signature"        # the function type with its symbolic sizes and unsigned types
NAMES = "tir.names"                # the parameters' names
INPLACE = "tir.inplace"            # for each output, the input whose new content it is; -1 for an output of its own

# On main
ARENA = "tir.arena"                # of an argument: memory that the caller provides for what main computes on the way
FUNCTIONS = "tir.functions"        # of an argument: the table of packed functions
FRAME = "tir.frame"                # of an argument: what a call holds until its end
HELD = "tir.held_results"          # how many results of packed functions the frame has room for
LATE_ARENAS = "tir.late_arenas"    # how many arenas of sizes that depend on data the frame has room for

# On declarations that kernels call
EXTERN = "tir.extern"              # the C function's name
TIR_PACKED = "tir.packed"          # the packed function's name
DTYPES = "tir.dtypes"              # the element types of its tensors

# On launches and allocations
SHARED_NAMES = "tir.shared"        # of a launch: what its shared buffers are called
BUFFER_NAME = "tir.name"           # of an allocation: what the buffer is called
