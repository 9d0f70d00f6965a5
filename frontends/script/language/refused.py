"""Words of TVMScript that Legato does not support: the reason, and what to write instead."""

LOWERED = "what TVM lowers kernels to; a script is written above that: {instead}"
DEVICE = "an instruction of one device: call it by T.call_extern, or give a rule for the intrinsic (@legato.lower_intrinsic)"
RUNTIME = "part of TVM's own runtime"

# by word, or by its beginning ("ptx_*")
WORDS: dict[str, str] = {
    "ptx_*": DEVICE, "mma_*": DEVICE, "mma": DEVICE, "tvm_mma_sync": DEVICE, "tvm_bmma_sync": DEVICE, "tvm_load_matrix_sync": DEVICE,
    "tvm_store_matrix_sync": DEVICE, "tvm_fill_fragment": DEVICE, "simdgroup_*": DEVICE,
    "cuda.*": DEVICE, "ptx.*": DEVICE, "metal.*": DEVICE,
    "make_filled_simdgroup_matrix": DEVICE, "call_llvm_*": DEVICE, "llvm_lookup_intrinsic_id": DEVICE, "dp4a": DEVICE, "vscale": DEVICE,
    "get_active_lane_mask": DEVICE, "tvm_warp_*": DEVICE, "create_barriers": DEVICE,
    "tvm_storage_sync": "a barrier of more than one block's threads: make two kernels of it",
    "tvm_thread_allreduce": "what TVM lowers reductions over threads to: write a block whose reduce axis is bound to the thread's loop",
    "tvm_call_packed*": LOWERED.format(instead="T.call_packed(\"name\", A, 3)"),
    "tvm_struct_*": LOWERED.format(instead="the parameters' T.Buffer says what they are"),
    "tvm_stack_*": LOWERED.format(instead="the parameters' T.Buffer says what they are"),
    "tvm_access_ptr": LOWERED.format(instead="T.address_of(A[i, j]) or A.access_ptr(\"r\")"),
    "tvm_*": "what TVM's own lowering makes",
    "vthread": "virtual threads: loop over T.serial or T.unroll inside the thread's loop",
    "comm_reducer": "a reduction of a user's own: keep what it reduces in several buffers, and give each its value in the block",
    "call_llvm_intrin": DEVICE, "call_intrin": "an op by its name: call the function itself, T.exp(x)",
    "ret": "a value that a kernel returns: it writes its last parameters",
    "Return": "a value that a kernel returns: it writes its last parameters",
    "attr": "an attribute of TVM's lowering: loops say T.parallel, T.vectorized, T.unroll, T.thread_binding themselves",
    "realize": LOWERED.format(instead="T.alloc_buffer(shape, dtype, scope)"),
    "allocate_const": "a constant inside a kernel: give it to the kernel as a parameter, a graph's R.const",
    "AllocateConst": "a constant inside a kernel: give it to the kernel as a parameter, a graph's R.const",
    "buffer_store": LOWERED.format(instead="A[i] = x"), "BufferLoad": LOWERED.format(instead="A[i]"),
    "load": LOWERED.format(instead="A[i]"),
    "store": LOWERED.format(instead="A[i] = x"), "isnullptr": LOWERED.format(instead="a parameter is there"),
    "break_loop": "a loop that ends early: a while loop with a flag says the same", "Break": "a loop that ends early: use a while loop",
    "target": "a target inside a kernel: legato.compile(kernel, target=...) says it", "Assert": "a check at run time",
    "Buffer.view": "another shape for the same memory: T.decl_buffer(shape, dtype, data=A.data)",
    "Buffer.local": "another shape for the same memory: T.decl_buffer(shape, dtype, data=A.data)",
    "Buffer.permute": "another order of a buffer's dimensions: swap the indices",
    "alloc_tcgen*": DEVICE, "elected": DEVICE, "device_entry": "how TVM splits a kernel between host and device",
    "cta_id": "T.thread_binding(n, thread=\"blockIdx.x\") says it", "thread_id": "T.thread_binding(n, thread=\"threadIdx.x\") says it",
    "warp_id": "T.thread_binding(n, thread=\"threadIdx.y\") says it", "lane_id": "T.thread_binding(32, thread=\"threadIdx.x\") says it",
    "copy": "a tile primitive: write the loops", "gemm": "a tile primitive: write the loops",
    "jit": "a template of kernels: a Python function that returns the kernel, made for the values that it captures",
    "vectorlow": DEVICE, "vectorhigh": DEVICE, "vectorcombine": DEVICE, "undef": "a value that is not known",
    "Call": "an op by its name: call the function itself",
    "index_map": "a schedule's layout: legato.Schedule(kernel).transform_layout(...)",
}
GRAPH: dict[str, str] = {
    "vm.*": RUNTIME, "memory.*": "memory by hand: the compiler plans it", "builtin.*": "memory by hand: the compiler plans it",
    "call_tir_with_grad": "for training; R.call_tir calls the kernel", "grad.*": "for training", "ccl.*": "for several devices at once",
    "distributed.*": "for several devices at once", "dist.*": "for several devices at once", "DTensor": "for several devices at once",
    "print": "an effect; return the value, or call a packed function that prints it by R.call_packed",
    "assert_op": "a check at run time: sizes are checked by R.match_cast",
    "call_py_func": "a Python function called by its name in a class: register it, tvm_ffi.register_global_func(name, f), and call it by "
                    "R.call_dps_packed(name, ...)",
    "emit_te": "an expression of TVM's te: make a kernel of it, T.create_prim_func([...]), and call it by R.call_tir",
    "emit": "for TVM's block builder: assign the value to a name", "emit_with_type": "for TVM's block builder: assign the value to a name",
    "emit_with_sinfo": "for TVM's block builder: assign the value to a name", "to_vdevice": "for several devices in one module",
    "hint_on_device": "for several devices in one module",
    "invoke_closure": "a closure at run time: functions inside are put in their places",
    "make_closure": "a closure at run time: functions inside are put in their places", "invoke_pure_closure": "a closure at run time",
    "call_builtin_with_ctx": RUNTIME, "null_value": RUNTIME, "call_inplace_packed": "a packed function that writes its inputs: "
    "R.call_dps_packed writes outputs of their own", "tensor_to_shape": "a shape that is data: read sizes off tensors' types (R.shape_of)",
    "str": "a text at run time", "to_tensor": RUNTIME, "rewriter": "patterns in TVM's script: legato.patterns has them",
    "func_ret_value": "for TVM's block builder: return", "func_name": "for TVM's block builder", "arg": "for TVM's block builder",
    "SeqExpr": "for TVM's block builder", "If": "for TVM's block builder: if cond: ... else: ...",
}


def refused(word: str, table: dict[str, str] | None = None, face: str = "T") -> str | None:
    """The reason why a word of TVMScript is not supported, and what to write instead; None for a word that is not in the table."""
    table = WORDS if table is None else table
    reason = table.get(word)
    if reason is None:
        found = [p for p in table if p.endswith("*") and word.startswith(p[:-1])]
        reason = table[max(found, key=len)] if found else None
    shown = word if word.startswith("Buffer.") else f"{face}.{word}"
    return reason and f"{shown} is not supported: {reason}"
