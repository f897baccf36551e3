# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names of a program's parts, and roles of a mesh's axes."""

import re

import numpy as np
import pytest

from context_layouts import dense, spec_of
from frontend_testing import shoal
from shoal.models import EncoderDecoder
from shoal.moe import Layout, MoeConfig
from shoal_testing import BIN, ROOT, load_json, run


def collectives_of(tmp_path, text):
    source, stats = tmp_path / "p.mlir", tmp_path / "s.json"
    source.write_text(text)
    run(BIN / "shoalc", source, "--emit=spmd", "-o", tmp_path / "o.mlir", "--stats", stats).expect_success()
    return load_json(stats)["collective_list"]


def test_layers_and_roles_of_a_training_step(tmp_path):
    layout = Layout.folded({"tp": 2, "dp": 2})
    model = dense(2, layout)
    tokens = shoal.TensorSpec((4, 17), "int32", layout.P("dp"))

    def step(params, tokens):
        return shoal.value_and_grad(lambda p: model.loss(p, tokens)[0])(params)

    params = spec_of(model.shapes(), model.shardings())
    out = (None, model.shardings())
    listed = collectives_of(tmp_path, shoal.trace(step, (params, tokens), layout.mesh, out_shardings=out))
    assert all(collective["roles"] for collective in listed)
    named = {(collective["layer"], collective["roles"]) for collective in listed}
    for number in (0, 1):
        for part in ("attention", "dense"):
            assert (f"layers.{number}/{part}", "tp") in named, named
    assert any(roles == "dp" for _, roles in named), named
    assert all(layer for layer, _ in named), named
    # Sums of gradients are of the layer whose they are, though it is the results that need them.
    assert {layer for layer, roles in named if roles == "dp"} >= {"layers.0/dense", "layers.1/dense"}, named


def test_layers_of_experts_and_of_two_sequences(tmp_path):
    """Every collective of a step of a model is in one of its parts."""
    layout = Layout.folded({"tp": 2, "dp": 2}, {"ep": 4})
    moe = MoeConfig.gshard(4, 8, moe_group_size=8)
    model = EncoderDecoder(32, 16, 2, 8, (True, False), (True, False), moe, layout)
    rows = shoal.TensorSpec((8, 8), "int32", layout.P("outside"))

    def step(params, source, target):
        pairs = {"source": source, "target": target}
        return shoal.value_and_grad(lambda p: model.loss(p, pairs, training=False)[0])(params)

    params = spec_of(model.shapes(), model.shardings())
    out = (None, model.shardings())
    listed = collectives_of(tmp_path, shoal.trace(step, (params, rows, rows), layout.mesh, out_shardings=out))
    assert all(collective.get("layer") and collective["roles"] for collective in listed), listed
    layers = {collective["layer"] for collective in listed}
    assert {"encoder.0/experts", "decoder.0/experts"} <= layers, layers


def test_the_example_of_the_page():
    page, names = (ROOT / "docs/guide/Python.md").read_text(), {}
    (example,) = (block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "named_scope" in block)
    exec(example, names)
    x, wi, wo = (np.ones(shape, np.float32) for shape in ((4, 6), (6, 8), (8, 6)))
    executable = names["network"].executable_for(x, wi, wo)
    assert [(one["layer"], one["roles"]) for one in executable.stats["collective_list"]] == [("layers.0/mlp", "tp")]


def test_names_nest_and_end():
    def scoped(x):
        with shoal.named_scope("outer"):
            x = x + 1
            with shoal.named_scope("inner"):
                x = x * 2
            x = x - 3
        return x / 4

    text = shoal.trace(scoped, (shoal.TensorSpec((2,), "float32"),))
    names = re.findall(r'"arith\.(addf|mulf|subf|divf)".*loc\((?:"([^"]*)"\()?"[^"]*":\d', text)
    assert names == [("addf", "outer"), ("mulf", "outer/inner"), ("subf", "outer"), ("divf", "")]


def test_names_and_roles_that_are_wrong():
    for name in ("", "a/b"):
        with pytest.raises(shoal.TraceError, match="expected a name without"):
            with shoal.named_scope(name):
                pass
    with pytest.raises(shoal.TraceError, match='role "tp": axis "y" is not one of'):
        shoal.Mesh(x=2, roles={"tp": ("y",)})


def test_layouts_say_what_axes_are_for():
    layout = Layout.folded({"tp": 2, "dp": 2}, {"ep": 4}, outside=("dp",))
    text = shoal.trace(lambda x: x + 1, (shoal.TensorSpec((2,), "float32"),), layout.mesh)
    assert '{shoal.roles = {"dp" = ["x1"], "ep" = ["x1", "x0"], "tp" = ["x0"]}}' in text
    assert layout.mesh == shoal.Mesh(x1=2, x0=2)
