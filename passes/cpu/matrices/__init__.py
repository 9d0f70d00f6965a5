"""Products of matrices on AMX's tile registers: recognized among vector ops, and emitted as LLVM's intrinsics."""
