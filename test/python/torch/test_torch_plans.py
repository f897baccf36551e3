# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Plans of others: transformers' tables of styles, placements of DTensors, by stand-ins of their classes."""

import dataclasses
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import sharding_configs

import shoal
import shoal.torch as st
from shoal import P
from shoal.errors import TraceError, UnsupportedError
from shoal.torch import plans
from shoal.torch.module_plans import of_configs, of_layout
from shoal.torch.shardings import expanded
from shoal.torch.specs import read, spelled

RANKS = {
    "layers.0.attn.q.weight": 2, "layers.0.attn.q.bias": 1, "layers.0.attn.o.weight": 2, "layers.0.attn.o.bias": 1,
    "layers.0.mlp.experts.up": 3, "layers.0.mlp.experts.down": 3, "embed.weight": 2, "norm.weight": 1,
}  # fmt: skip


def entries(plan):
    return {name: spec.dims for name, spec in plan.items()}


def test_styles():
    table = {
        "layers.*.attn.q": "colwise", "layers.*.attn.o": "rowwise", "layers.*.mlp.experts.up": "packed_colwise",
        "layers.*.mlp.experts.down": "rowwise", "layers.*.mlp.experts": "moe_tp_experts", "embed": "embedding_rowwise",
        "norm": "replicated_with_grad_allreduce",
    }  # fmt: skip
    assert entries(plans.of_styles(table, RANKS, "t")) == {
        "layers.0.attn.q.weight": ("t", None), "layers.0.attn.q.bias": ("t",), "layers.0.attn.o.weight": (None, "t"),
        "layers.0.attn.o.bias": (), "layers.0.mlp.experts.up": (None, "t", None), "layers.0.mlp.experts.down": (None, None, "t"),
        "embed.weight": ("t", None), "norm.weight": (),
    }  # fmt: skip
    experts = {"layers.*.mlp.experts.up": "grouped_gemm", "layers.*.mlp.experts": "ep_dispatch_experts"}
    assert entries(plans.of_styles(experts, RANKS, "e")) == {"layers.0.mlp.experts.up": ("e", None, None)}


def test_unknown_styles_are_refused():
    with pytest.raises(UnsupportedError, match='plan: "norm": style "diagonal" is not supported; expected one of all_reduce, colwise'):
        plans.of_styles({"norm": "diagonal"}, RANKS, "t")
    model = SimpleNamespace(config=SimpleNamespace())
    with pytest.raises(TraceError, match="SimpleNamespace: its config has no base_model_ep_plan"):
        plans.ep_plan(model)


def test_every_style_of_transformers_is_known():
    """Of all plans in its files: none is left over."""
    transformers = pytest.importorskip("transformers")
    found = {}
    for path in sorted(Path(transformers.__file__).parent.glob("models/*/*.py")):
        for plan in re.findall(r"(?:base_model|)_(?:tp|ep)_plan = (\{.*?\})", path.read_text(), re.DOTALL):
            found |= {style: path.name for style in re.findall(r'": "([a-z_]+)"', plan)}
    assert {"colwise", "grouped_gemm", "embedding_colwise"} <= set(found)
    assert {style: name for style, name in found.items() if style not in {*plans._STYLES, *plans._OF_ACTIVATIONS}} == {}


@dataclasses.dataclass
class Shard:
    dim: int


@dataclasses.dataclass
class _StridedShard:  # noqa: N801, as torch calls it
    dim: int
    split_factor: int


class Replicate:
    pass


class Partial:
    def __repr__(self):
        return "Partial(sum)"


def test_placements():
    def spec(*placements):
        return plans.of_placements(placements, ("fsdp", "tp"), 2).dims

    assert spec(Replicate(), Shard(1)) == (None, "tp")
    assert spec(Shard(0), Shard(0)) == (("fsdp", "tp"), None)
    # FSDP's split of what tensor parallelism has split before.
    assert spec(_StridedShard(0, 2), Shard(0)) == (("tp", "fsdp"), None)
    assert spec(Shard(-1), Replicate()) == (None, "fsdp")
    with pytest.raises(UnsupportedError, match=r'"w": placement Partial\(sum\) over "tp" is not supported; expected Shard or Replicate'):
        plans.of_placements((Replicate(), Partial()), ("fsdp", "tp"), 2, "w")


def test_meshes():
    assert plans.mesh_of(SimpleNamespace(shape=(2, 4), mesh_dim_names=("data", "model"))) == shoal.Mesh(data=2, model=4)
    with pytest.raises(TraceError, match="its dimensions have no names; give mesh_dim_names"):
        plans.mesh_of(SimpleNamespace(shape=(2,), mesh_dim_names=None))


def test_modules_of_dtensors():
    mesh = SimpleNamespace(shape=(2, 4), mesh_dim_names=("fsdp", "tp"))
    sharded = SimpleNamespace(placements=(Shard(0), Shard(1)), device_mesh=mesh, shape=(8, 8))
    module = SimpleNamespace(named_parameters=lambda remove_duplicate: [("w", sharded), ("b", np.zeros(3))])
    assert entries(plans.dtensor_plan(module)) == {"w": ("fsdp", "tp")}


def test_specs_as_text():
    for spec in (P(), P("a", None), P(("a", "b"), "?"), P("a", ...), P(None, replicated=("b",))):
        assert repr(read(spelled(spec))) == repr(P(*spec.dims, replicated=spec.replicated))
    with pytest.raises(shoal.TraceTypeError, match="annotate: expected an axis's name, got 3"):
        spelled(P(3))


def test_globs_with_braces():
    assert expanded("a.{b,c}.{d,e}") == ["a.b.d", "a.b.e", "a.c.d", "a.c.e"]


AXES = {"dp": "data", "cp": None, "tp": "model", "ep": "expert"}


@pytest.mark.parametrize("name", sharding_configs.MODELS)
def test_plans_that_modules_carry(name):
    """Of torchtitan's models: every state and result has its place, and nothing is left."""
    configs = sharding_configs.MODELS[name]
    ranks = sharding_configs.ranks(configs)
    plan = of_configs(configs, ranks, AXES)
    assert set(plan["params"]) == set(ranks)
    assert entries(plan["params"])["lm_head.weight"] == ("model",)
    experts = [spec for path, spec in entries(plan["params"]).items() if "inner_experts" in path]
    assert experts and set(experts) == {("expert",)}
    assert entries(plan["params"])["layers.0.attention.wo.weight"] == (None, "model")
    assert entries(plan["activations"])["layers.0.attention.wo"] == (("data", "model"),)
    assert entries(plan["activations"])["lm_head"] == ("data", "model")
    # What is a sum over processes is whole here.
    assert entries(plan["params"])["layers.0.moe.tokens_per_expert_E"] == ()


def test_axes_of_plans():
    """By their own names, by several, of older forms without a specification, of dimensions from the end."""
    assert of_layout(sharding_configs.SPLIT_ROWS, None, "x").dims == (("dp", "cp", "tp"),)
    assert of_layout(sharding_configs.SPLIT_ROWS, {"dp": ("replicate", "shard"), "tp": "tp"}, "x").dims == (("replicate", "shard", "tp"),)
    assert of_layout({"tp": Shard(-1), "dp": Replicate()}, None, "w", 3).dims == (None, None, "tp")
    with pytest.raises(UnsupportedError, match=r'plan: "x": <Kind.V: \'V\'> over "tp" is not supported; expected S\(dim\), R, I, P, or V with a Part'):
        of_layout(sharding_configs.Layout({"tp": sharding_configs.V}), None, "x")
    with pytest.raises(UnsupportedError, match='plan: "x": .* over "tp" is not supported'):
        of_layout({"tp": Shard(-1)}, None, "x")


def test_modules_with_plans():
    weight, linear = np.zeros((4, 8)), SimpleNamespace(_sharding_config=sharding_configs.colwise())
    module = SimpleNamespace(
        named_modules=lambda: [("", SimpleNamespace()), ("up", linear)], named_buffers=lambda remove_duplicate: [],
        named_parameters=lambda remove_duplicate: [("up.weight", weight)],
    )  # fmt: skip
    plan = st.sharding_plan(module, AXES)
    assert entries(plan["params"]) == {"up.weight": ("model",)} and entries(plan["activations"]) == {"up": ("data", "model")}
    with pytest.raises(TraceError, match="SimpleNamespace: none of its modules has a sharding_config"):
        st.sharding_plan(SimpleNamespace(named_modules=lambda: []))
