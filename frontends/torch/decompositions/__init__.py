"""Ops that torch's ONNX exporter lacks, or takes for others, in terms of others."""
from legato.frontends.torch.decompositions.activations import ACTIVATIONS
from legato.frontends.torch.decompositions.division import DIVISION
from legato.frontends.torch.decompositions.elementwise import ELEMENTWISE
from legato.frontends.torch.decompositions.integers import INTEGERS
from legato.frontends.torch.decompositions.layers import LAYERS
from legato.frontends.torch.decompositions.order import ORDER
from legato.frontends.torch.decompositions.own import OWN
from legato.frontends.torch.decompositions.placing import PLACING
from legato.frontends.torch.decompositions.pools import POOLS
from legato.frontends.torch.decompositions.products import PRODUCTS
from legato.frontends.torch.decompositions.reductions import REDUCTIONS
from legato.frontends.torch.decompositions.resizing import RESIZING
from legato.frontends.torch.decompositions.scans import SCANS
from legato.frontends.torch.decompositions.special import SPECIAL

DECOMPOSITIONS = {**ACTIVATIONS, **DIVISION, **ELEMENTWISE, **INTEGERS, **LAYERS, **ORDER, **OWN, **PLACING, **POOLS, **PRODUCTS,
                  **REDUCTIONS, **RESIZING, **SCANS, **SPECIAL}
