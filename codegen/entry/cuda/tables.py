"""The tables of a model for NVIDIA's GPUs, as text in the LLVM dialect. Part of model.py."""
import re
from math import prod

from legato.codegen.entry.cuda.layouts import CudaModel, Driver, KernelRow, SiteRow, WeightRow
from legato.codegen.entry.texts import Strings, table_text, zeros_text
from legato.codegen.native.body import constant_text
from legato.codegen.native.language import fields
from legato.core.dtypes import as_dtype
from legato.core.errors import LegatoError
from legato.core.mlir import ir
from legato.dialects.tir.markers import CHIP, GRAPHS, KERNELS, SITES
from legato.passes.memory.signature import Boundary

ONLY = {"": 0, "a": 1, "f": 2}      # by the suffix of a chip's name: CudaModel.only


def cuda_tables(main: ir.OpView, boundary: Boundary, strings: Strings) -> list[str]:
    """The tables that the functions of this folder read. ``strings``: gets their texts."""
    chip = main.attributes[CHIP].value
    found = re.fullmatch(r"sm_(\d+)([af]?)", chip)
    if found is None:
        raise LegatoError(f"'{chip}' is no chip of NVIDIA's: they are called sm_80, sm_90a, ...")
    kernels = [{"name": strings.add(name.value)} for name in main.attributes[KERNELS]]
    sites = [{"text": strings.add(text.value)} for text in main.attributes[SITES]]
    model = {"target": strings.add(f"nvvm{{chip={chip}}}"), "chip": strings.add(chip), "version": int(found[1]), "only": ONLY[found[2]],
             "kernels": len(kernels), "graphs": int(GRAPHS in main.attributes)}
    weights = [{"size": prod(int(size) for size in value.shown) * as_dtype(value.dtype).itemsize} for value in boundary.weights]
    functions = list(fields(Driver))[1:]
    return [table_text(CudaModel, "cuda_model", [model]), table_text(KernelRow, "cuda_kernels", kernels),
            table_text(SiteRow, "cuda_sites", sites), table_text(WeightRow, "cuda_weights", weights), zeros_text("cuda_driver", Driver),
            constant_text("legato.cuda_names", "\0".join(functions))]
