"""Legato's own targets."""
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from legato.analysis.structured import StructuredKernel
from legato.core.errors import LegatoError
from legato.core.nvidia_chips import parse_chip
from legato.dialects.tir.matrices import MatrixShape
from legato.dialects.tir.matrix_factors import FLOAT8, INTEGERS8
from legato.targets.classified import classified
from legato.targets.cpu.activations import RULES as CPU_ACTIVATIONS
from legato.targets.cpu.arg_pools import RULES as CPU_ARG_POOLS
from legato.targets.cpu.arg_reductions import RULES as CPU_ARG_REDUCTIONS
from legato.targets.cpu.attention import choose_attention
from legato.targets.cpu.col2im import RULES as CPU_COL2IM
from legato.targets.cpu.cumulative import RULES as CPU_CUMULATIVE
from legato.targets.cpu.integers import RULES as CPU_INTEGERS
from legato.targets.cpu.intrinsics import RULES as LLVM_INTRINSICS
from legato.targets.cpu.look_up_bytes import RULES as CPU_LOOK_UP_BYTES
from legato.targets.cpu.lrn import RULES as CPU_LRN
from legato.targets.cpu.machine import Machine
from legato.targets.cpu.mirrored_pads import RULES as CPU_MIRRORED_PADS
from legato.targets.cpu.packing import choose_packing
from legato.targets.cpu.quantized import RULES as CPU_QUANTIZED
from legato.targets.cpu.regions import RULES as CPU_REGIONS
from legato.targets.cpu.repeated_elements import RULES as CPU_REPEATED_ELEMENTS
from legato.targets.cpu.scatter import RULES as CPU_SCATTER
from legato.targets.cpu.schedules import schedule
from legato.targets.cpu.take_in_vectors import RULES as CPU_TAKE_IN_VECTORS
from legato.targets.cpu.topk import RULES as CPU_TOPK
from legato.targets.cpu.topk_by_halves import RULES as CPU_TOPK_BY_HALVES
from legato.targets.cpu.topk_by_sorting import RULES as CPU_TOPK_BY_SORTING
from legato.targets.cpu.topk_in_columns import RULES as CPU_TOPK_IN_COLUMNS
from legato.targets.cpu.topk_in_registers import RULES as CPU_TOPK_IN_REGISTERS
from legato.targets.cpu.topk_of_any_length import RULES as CPU_TOPK_OF_ANY_LENGTH
from legato.targets.cpu.topk_of_wide_elements import RULES as CPU_TOPK_OF_WIDE_ELEMENTS
from legato.targets.cpu.weighted_rows import RULES as CPU_WEIGHTED_ROWS
from legato.targets.cpu.winograd import choose_winograd
from legato.targets.generic import RULES as GENERIC_RULES
from legato.targets.gpu.arg_reductions import RULES as GPU_ARG_REDUCTIONS
from legato.targets.gpu.attention import fuses_attention
from legato.targets.gpu.count import RULES as GPU_COUNT
from legato.targets.gpu.cumulative import RULES as GPU_CUMULATIVE
from legato.targets.gpu.machine import Gpu
from legato.targets.gpu.pads import RULES as GPU_PADS
from legato.targets.gpu.quantized import RULES as GPU_QUANTIZED
from legato.targets.gpu.scatter import RULES as GPU_SCATTER
from legato.targets.gpu.suppression import RULES as GPU_SUPPRESSION
from legato.targets.gpu.topk import RULES as GPU_TOPK
from legato.targets.intrinsics import dot_instructions
from legato.targets.intrinsics.doubles import RULES as DOUBLES
from legato.targets.intrinsics.generic import RULES as GENERIC_INTRINSICS
from legato.targets.intrinsics.libraries import GLSL, LIBDEVICE, LIBM, NVVM_NATIVE
from legato.targets.intrinsics.vulkan_arithmetic import RULES as VULKAN_ARITHMETIC
from legato.targets.pipelines import cpu_stages, nvvm_stages, vulkan_stages
from legato.targets.target import Target

# to which factors of f32 may be rounded, or split into parts of it; None is f32, or bf16x6 where that is sure to be faster
PRECISIONS = (None, "f32", "bf16", "bf16x3", "bf16x6")
HOPPER, HOPPER_SHARED = "sm_90a", 227 << 10     # the chip with products of warpgroups; bytes of a block
DOT_PRODUCTS = 61        # the first chip with dp4a
NVIDIA_PRECISIONS = (None, "f32", "tf32")
SUBGROUP, SUBGROUPS = 32, ("4", "8", "16", "32", "64", "128")      # threads, where nothing is said; and what can be
HOST, NONE = "host", "none"         # of a Vulkan target's matrices: those of this machine's device, and none
PARTS = {None: 3, "bf16x6": 3, "bf16x3": 2}     # of bf16 that numbers of f32 are split into, by matmul-precision
FLAGS = ("flush-denormals", "check-bounds", "fill-memory")   # off where they are None


def _machine(options: Mapping[str, Any]) -> Machine:
    cpu, threads, precision = options["cpu"], options["threads"], options["matmul-precision"]
    if precision not in PRECISIONS:
        raise LegatoError(f"option 'matmul-precision' wants f32, bf16, bf16x3 or bf16x6, found '{precision}'")
    for name in FLAGS:
        if options[name] not in (None, True, False):
            raise LegatoError(f"option '{name}' wants true or false, found '{options[name]}'")
    machine = Machine.host(threads=threads) if cpu == "host" else Machine.named(cpu, threads=threads)
    parts = PARTS.get(precision, 0) if machine.has("amx-bf16") else 0
    return replace(machine, rounds_factors=precision == "bf16", parts=parts, always_parts=precision is not None)


def _nvidia(options: Mapping[str, Any]) -> Gpu:
    version, _ = parse_chip(options["chip"])
    precision = options["matmul-precision"]
    if precision not in NVIDIA_PRECISIONS:
        raise LegatoError(f"option 'matmul-precision' wants f32 or tf32, found '{precision}'")
    ampere = version >= 80
    rounded = ("f32",) if precision == "tf32" else ()
    types = (*(("f16", "bf16", *INTEGERS8, *rounded) if ampere else ()), *(FLOAT8 if version >= 89 else ()))
    return Gpu(approx=options["approx"], merges=True, schedules=options["schedules"], async_copies=ampere,
               dynamic_shared_bytes=HOPPER_SHARED if options["chip"] == HOPPER else 48 << 10, warpgroups=options["chip"] == HOPPER,
               matrix_types=types,
               dot_products=version >= DOT_PRODUCTS)


def _vulkan(options: Mapping[str, Any]) -> Gpu:
    text, subgroup = str(options["matrices"]), str(options["subgroup"] or SUBGROUP)
    shapes = [] if text in (HOST, NONE) else [(one, MatrixShape.of(one)) for one in text.split("+")]
    for one, shape in shapes:
        if shape is None or not all((shape.rows, shape.columns, shape.depth)):
            raise LegatoError(f"option 'matrices' wants host, none, or shapes and types such as m16n16k16_f16_f32+m16n16k16_bf16_f32, of "
                              f"factors of f16, bf16 or f32 and sums of f16 or f32, or of u8 or s8 and sums of i32; found '{one}'")
    if subgroup not in SUBGROUPS:
        raise LegatoError(f"option 'subgroup' wants the threads of a subgroup, {', '.join(SUBGROUPS[:-1])} or {SUBGROUPS[-1]}; found "
                          f"'{subgroup}'")
    has: dict[str, str] = {}
    for name in ("dot-products", "int64"):
        has[name] = str(options[name]).lower()
        if has[name] not in (HOST, "true", "false"):
            raise LegatoError(f"option '{name}' wants host, true or false, found '{options[name]}'")
    return Gpu(warp=1, shared_bytes=32 << 10, dynamic_shared_bytes=32 << 10, registers=128, vector_lanes=4, grid=65535,
               schedules=options["schedules"],
               matrices=tuple(shape for _, shape in shapes if shape is not None), subgroup=int(subgroup),
               dot_products=has["dot-products"] == "true", long_integers=has["int64"] != "false")


def _gpu_row_forms(kernel: StructuredKernel, machine: Any) -> Any:
    from legato.targets.gpu.row_forms import row_forms

    return row_forms(kernel, machine)


def _gpu_schedules(kernel: StructuredKernel, machine: Any) -> Any:
    from legato.targets.gpu.schedules import schedules  # a dozen files, for GPUs alone

    return schedules(kernel, machine)


GENERIC = Target("generic", rules=(*GENERIC_RULES, *GENERIC_INTRINSICS), doc="structured loops that any device can begin with")
CPU = Target("cpu", parents=(GENERIC,), rules=LIBM, doc="what all CPUs share: C's libm")
LLVM = Target("llvm", parents=(CPU,), rules=(*CPU_ACTIVATIONS, *CPU_ARG_POOLS, *CPU_ARG_REDUCTIONS, *CPU_COL2IM, *CPU_CUMULATIVE,
                                                   *CPU_INTEGERS, *CPU_LOOK_UP_BYTES, CPU_LRN,
                                                   *CPU_MIRRORED_PADS, *CPU_QUANTIZED, *CPU_REGIONS, *CPU_REPEATED_ELEMENTS,
                                                   *CPU_SCATTER, *CPU_TAKE_IN_VECTORS, *CPU_TOPK,
                                                   *CPU_TOPK_BY_HALVES, *CPU_TOPK_BY_SORTING, *CPU_TOPK_IN_COLUMNS, *CPU_TOPK_IN_REGISTERS,
                                                   *CPU_TOPK_OF_ANY_LENGTH, *CPU_TOPK_OF_WIDE_ELEMENTS,
                                                   *CPU_WEIGHTED_ROWS, *LLVM_INTRINSICS),
              options={"cpu": "host", "threads": 1, "fuse-attention": True, "integer-contractions": True, "winograd": True,
                       "strassen": True, "matmul-precision": None, "flush-denormals": None, "check-bounds": None, "fill-memory": None},
              make_machine=_machine, schedule_function=classified(schedule), packing_function=classified(choose_packing),
              attention_function=classified(choose_attention), winograd_function=classified(choose_winograd),
              stages=cpu_stages,
              doc="CPUs, by LLVM: cpu=host|x86-64-v3|..., threads=N, fuse-attention=false for an attention's kernels one by one, "
                  "integer-contractions=false for products of dequantized values in floats, winograd=false for convolutions as defined, "
                  "strassen=false for matrix products as defined, "
                  "matmul-precision=bf16 for products of f32 rounded to bf16, where the CPU multiplies those faster, "
                  "bf16x3 and bf16x6 for products of f32 as three or six of parts of bf16 by AMX, with 16 and 24 bits, f32 for none so "
                  "(else those of six that are faster are), "
                  "flush-denormals=true for numbers below the normal ones as zeros, "
                  "check-bounds=true for kernels that check each index at run time, fill-memory=true for fresh memory full of NaNs")
GPU = Target("gpu", parents=(GENERIC,), runs=False,
             rules=(*GPU_ARG_REDUCTIONS, *GPU_CUMULATIVE, *GPU_COUNT, *GPU_PADS, *GPU_QUANTIZED, *GPU_SCATTER, *GPU_SUPPRESSION, *GPU_TOPK),
             doc="what all GPUs share")
NVVM = Target("nvvm", parents=(GPU,), rules=(*NVVM_NATIVE, *LIBDEVICE, *dot_instructions.NVIDIA),
              options={"approx": False, "chip": "sm_80", "schedules": True, "matmul-precision": None, "graphs": False, "cubin": True},
              make_machine=_nvidia,
              schedule_function=classified(_gpu_schedules), fuses_attention_function=classified(fuses_attention),
              row_forms_function=classified(_gpu_row_forms),
              stages=nvvm_stages, runs=True,
              doc="NVIDIA's GPUs, by PTX and the CUDA driver: approx=true for the device's approximating instructions, chip=sm_90a|..., "
                  "schedules=false for kernels without default schedules, matmul-precision=tf32 for products of f32 by tensor cores, which "
                  "round factors to 11 bits, graphs=true for the launches of a call as one CUDA graph, "
                  "cubin=false for PTX only, where ptxas is installed")
VULKAN = Target("vulkan", parents=(GPU,), rules=(*VULKAN_ARITHMETIC, *DOUBLES, *GLSL, *dot_instructions.VULKAN),
                options={"schedules": True, "matrices": HOST, "subgroup": None, "dot-products": HOST, "int64": HOST}, make_machine=_vulkan,
                schedule_function=classified(_gpu_schedules), fuses_attention_function=classified(fuses_attention),
                row_forms_function=classified(_gpu_row_forms),
                stages=vulkan_stages, runs=True, engine="vulkan",
                doc="GPUs of all makers, by SPIR-V: schedules=false for kernels without default schedules, "
                    "matrices=none|m16n16k16_f16_f32+... for the cooperative matrices of a device, and subgroup=32|... for its subgroups' "
                    "threads, where it is not this machine's; dot-products=true|false for whether a device has dot products of bytes, "
                    "int64=true|false for whether it has integers of 64 bits; without, kernels compute them in words of 32")
TARGETS = (GENERIC, CPU, LLVM, GPU, NVVM, VULKAN)
