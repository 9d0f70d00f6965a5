"""Lowered kernels of nvvm without shared memory, run on the CPU: their LLVM IR, with numbers of threads and blocks in variables."""
import ctypes
import mmap
import re

import numpy as np

from legato.codegen.device_code import device_code
from legato.codegen.llvm_text import for_llvm_22

NORESERVE = 0x4000      # of Linux: memory is taken when it is touched
SPECIAL = re.compile(r"call (?:noundef )?(?:range\([^)]*\) )?i32 @llvm\.nvvm\.read\.ptx\.sreg\.(c?ta?id)\.([xyz])\(\)")


def code_of(lowered):
    """The LLVM IR of each kernel of a module at the stage nvvm, by name."""
    with lowered.context:
        return device_code(lowered.module)


class LoweredKernel:
    """A kernel that is called as one thread of a block."""

    def __init__(self, name, text):
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        text = SPECIAL.sub(r"load i32, ptr @\1_\2", text).replace("ptx_kernel ", "")
        numbers = "".join(f"@{what}_{axis} = global i32 0\n" for what in ("tid", "ctaid") for axis in "xyz")
        module = llvm.parse_assembly(for_llvm_22(re.sub(r"(?m)^declare .*sreg.*$", "", text)) + numbers)
        machine = llvm.Target.from_default_triple().create_target_machine(opt=3)
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
        builder.getModulePassManager().run(module, builder)
        self.engine = llvm.create_mcjit_compiler(module, machine)
        self.address = self.engine.get_function_address(name)
        ((x, y, z),) = re.findall(r'"nvvm.maxntid"="(\d+),(\d+),(\d+)"', text)
        self.block = [int(x), int(y), int(z)]

    def number(self, name):
        """The variable of a number."""
        return ctypes.c_int32.from_address(self.engine.get_global_value_address(name))

    def __call__(self, block, arguments):
        """Runs the threads of a block, (x, y, z), on arrays and sizes."""
        call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arguments))(self.address)
        words = [one if isinstance(one, int) else one.ctypes.data for one in arguments]
        for axis, number in zip("xyz", block):
            self.number(f"ctaid_{axis}").value = number
        for thread in np.ndindex(*self.block):
            for axis, number in zip("xyz", thread):
                self.number(f"tid_{axis}").value = number
            call(*words)


def sparse(count, dtype):
    """An array of zeros, of which only what is touched takes memory."""
    size = count * np.dtype(dtype).itemsize
    return np.frombuffer(mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE), dtype, count)
