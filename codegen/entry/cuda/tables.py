"""The tables of a model for NVIDIA's GPUs, as text in the LLVM dialect. Part of model.py."""
from math import prod

from legato.codegen.entry.cuda.layouts import CudaModel, Driver, KernelRow, SiteRow, WeightRow
from legato.codegen.entry.texts import Strings, table_text, zeros_text
from legato.codegen.native.body import constant_text
from legato.codegen.native.language import fields
from legato.core.dtypes import as_dtype
from legato.core.mlir import ir
from legato.core.nvidia_chips import parse_chip
from legato.dialects.tir.markers import CHIP, GRAPHS, KERNELS, SITES
from legato.passes.memory.signature import Boundary

ONLY = {"": 0, "a": 1, "f": 2}      # by the suffix of a chip's name: CudaModel.only


def cuda_tables(main: ir.OpView, boundary: Boundary, strings: Strings) -> list[str]:
    """The tables that the functions of this folder read. ``strings``: gets their texts."""
    chip = main.attributes[CHIP].value
    version, suffix = parse_chip(chip)
    kernels = [{"name": strings.add(name.value)} for name in main.attributes[KERNELS]]
    sites = [{"text": strings.add(text.value)} for text in main.attributes[SITES]]
    model = {"target": strings.add(f"nvvm{{chip={chip}}}"), "chip": strings.add(chip), "version": version, "only": ONLY[suffix],
             "kernels": len(kernels), "graphs": int(GRAPHS in main.attributes)}
    weights = [{"size": prod(int(size) for size in value.shown) * as_dtype(value.dtype).itemsize} for value in boundary.weights]
    functions = list(fields(Driver))[1:]
    return [table_text(CudaModel, "cuda_model", [model]), table_text(KernelRow, "cuda_kernels", kernels),
            table_text(SiteRow, "cuda_sites", sites), table_text(WeightRow, "cuda_weights", weights), zeros_text("cuda_driver", Driver),
            constant_text("legato.cuda_names", "\0".join(functions))]
