"""TVM's older and newer spellings of a script are the same script."""
import re

import kernels
import kernels_inplace
import kernels_language
import kernels_statements
import kernels_vectors
import kernels_views
import pytest
import test_graphs
import test_modules
from test_mutants import scripts
from thoroughly import sampled

from legato.script import parse

# older, newer
KERNELS = ((r"T\.block\(", "T.sblock("), (r"T\.alloc_buffer\(", "T.sblock_alloc_buffer("), (r"T\.block_attr\(", "T.sblock_attr("),
           (r"@T\.prim_func$", "@T.prim_func(s_tir=True)"), (r"'tir\.noalias'", "'tirx.noalias'"), (r"T\.macro", "T.inline"),
           (r"T\.LetStmt\(", "T.Bind("), (r"T\.ramp\(", "T.Ramp("))
GRAPHS = ((r"out_sinfo=", "out_ty="), (r"@R\.func$", "@R.function"))
FILES = (kernels, kernels_inplace, kernels_language, kernels_statements, kernels_vectors, kernels_views, test_graphs, test_modules)
TEXTS = [(text, names) for file in FILES for text, names in scripts(file)]


def spelled(text, rules, newer):
    for older, new in rules:
        text = re.sub(older, new, text, flags=re.M) if newer else text.replace(new, re.sub(r"\\|\$", "", older))
    return text


def name_of(text):
    return re.findall(r"(?:def|class) (\w+)", text)[0]


ALONE = {"ramp"}  # takes integers, which a graph gives it
PAIRS = {name_of(text): (spelled(text, KERNELS + GRAPHS, False), spelled(text, KERNELS + GRAPHS, True), names) for text, names in TEXTS}


@pytest.mark.parametrize("name", sampled([n for n, (older, newer, _) in PAIRS.items() if older != newer and n not in ALONE], 2))
def test_the_same_in_both(name):
    older, newer, names = PAIRS[name]
    assert str(parse(older, **names)) == str(parse(newer, **names))


def test_there_are_enough():
    assert sum(older != newer and "prim_func" in older for older, newer, _ in PAIRS.values()) >= 30
