# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layouts of attention and of decoders: what is sent, and whole models over cp and tp."""

import dataclasses
import re

import numpy as np
import pytest

from context_layouts import CASES, dense
from frontend_testing import assert_same, evaluate, shoal
from moe_layouts import statistics
from shoal.frontend.pytrees import flatten
from shoal.moe import Layout
from test_context import LAYOUTS, expected, inputs, over
from test_models import load

# What forward consists of, where it is one thing alone.
KINDS = {"ring": {"collective_permute"}, "TP": {"all_reduce", "all_gather"}}


@pytest.mark.parametrize("name", CASES)
def test_bytes_are_the_formulas(name):
    case = CASES[name]
    (forward, kinds), (both, _) = case.sent(gradient=False), case.sent(gradient=True)
    assert 0 < sum(forward.values()) <= case.forward
    assert sum(both.values()) <= 1.05 * case.both
    assert set(kinds) <= KINDS.get(name.split()[0].strip(","), set(kinds))


def test_a_window_ends_the_ring():
    """One hop where the window of a block's first place reaches the block before, of three."""
    short, long = (CASES[name].sent(gradient=False)[1] for name in ("ring, CP 4, window 17", "ring, CP 4"))
    assert short["collective_permute"] * 3 == long["collective_permute"]


@pytest.mark.parametrize("sizes", [{"tp": 4}, {"tp": 2, "dp": 2}])
def test_cross_entropy_of_a_split_vocabulary(sizes):
    """Two sums of a number for each token, and of scalars: no logits are sent."""
    layout, batch, length = Layout.folded(sizes, sp=("cp",)), 4, 32
    model = dense(1, layout)
    tokens = batch * length // layout.size("dp")

    def loss(logits, labels):
        logits = layout.constrain(logits, "dp", "cp", "tp")
        return shoal.layers.cross_entropy(logits, labels)

    place = layout.P("dp", "cp", "tp")
    args = (shoal.TensorSpec((batch, length, model.config.vocab_size), "float32", place),
            shoal.TensorSpec((batch, length), "int32", layout.P("dp")))  # fmt: skip
    sent, _ = statistics(shoal.trace(loss, args, layout.mesh))
    t = layout.size("tp")
    assert set(sent) == {"all_reduce"}
    assert sent["all_reduce"] <= 2 * 2 * tokens * 4 * (t - 1) / t + 64


def test_order_of_experts_is_kept():
    """Balanced places are refused where the result of a layer depends on the order of tokens."""
    layout = Layout.folded({"cp": 2}, cp_balanced=True)
    model, tensors, *_ = load("mixtral")
    params = shoal.models.weights.from_tensors(tensors, model.config)
    tokens = np.zeros((2, 9), np.int32)
    for what, fields in {"a capacity": {"moe_expert_capacity_factor": 1.0}, "group_size=4": {"moe_group_size": 4}}.items():
        config = dataclasses.replace(model.config, moe=model.config.moe.replace(**fields))
        name = next(iter(fields))
        with pytest.raises(shoal.TraceError, match=f"cp_balanced: experts with {what} depend"):
            step = dataclasses.replace(model, config=config, layout=layout).loss
            shoal.trace(step, (params, tokens), layout.mesh)


CP, BOTH = {"cp": 4}, {"tp": 2, "cp": 2}
MODELS = [
    ("mixtral", "p2p", CP), ("mixtral", "a2a", BOTH), ("qwen3_moe", "a2a", BOTH), ("gpt_oss", "p2p", CP),
    ("gpt_oss", "allgather", BOTH), ("deepseek_v3", "p2p", BOTH), ("deepseek_v2", "a2a", CP),
]  # fmt: skip


@pytest.mark.parametrize("family, kind, sizes", MODELS)
def test_models_over_places(tmp_path, family, kind, sizes):
    """Logits, loss and all gradients in the balanced order, experts over the same devices."""
    model, tensors, *_ = load(family)
    params = shoal.models.weights.from_tensors(tensors, model.config)
    tokens = np.random.default_rng(3).integers(0, model.config.vocab_size, (2, 17)).astype(np.int32)
    layout = Layout.folded(sizes, {"ep": 4}, cp_comm_type=kind, cp_balanced=True)

    def step(model, params, tokens):
        return model.logits(params, tokens[:, :16]), shoal.value_and_grad(model.loss, has_aux=True)(params, tokens)

    one = evaluate(tmp_path, lambda p, t: step(model, p, t), params, tokens)
    many = model.over(layout)
    made = evaluate(
        tmp_path, lambda p, t: step(many, p, t), params, tokens,
        mesh=layout.mesh, devices=4, in_shardings=(many.shardings(), None),
    )  # fmt: skip
    for number, (a, b) in enumerate(zip(flatten(made)[0], flatten(one)[0])):
        assert_same(str(number), np.asarray(a), b, np.asarray(b).dtype, 2e-5)


PROCESSES = [
    ("p2p", True, "cp 4", None), ("p2p", False, "tp 2, cp 2", 5), ("a2a", True, "tp 2, cp 2", None),
    ("allgather", False, "cp 4", 5),
]  # fmt: skip


@pytest.mark.parametrize("kind, balanced, sizes, window", PROCESSES)
def test_four_processes(tmp_path, kind, balanced, sizes, window):
    layout, arrays = Layout.folded(LAYOUTS[sizes], cp_comm_type=kind, cp_balanced=balanced), inputs()
    y, gradients = expected(tmp_path, window, arrays)
    made = shoal.compile(over(layout, window), arrays, layout.mesh).run(tuple(arrays))
    for name, a, b in zip("yqkvs", flatten(made)[0], (y, *gradients)):
        assert_same(name, np.asarray(a), b, np.float32, 1e-5)


def test_flags_of_megatron():
    flags = "--tensor-model-parallel-size 2 --context-parallel-size 2"
    plain = Layout.from_megatron(flags, 4)
    assert (plain.axes("sp"), plain.cp_comm_type) == (plain.axes("cp"), "p2p")
    further = Layout.from_megatron(f"{flags} --sequence-parallel --cp-comm-type a2a", 4)
    assert (further.axes("sp"), further.cp_comm_type) == (further.axes("cp", "tp"), "a2a")
    none = Layout.from_megatron("--tensor-model-parallel-size 4", 4)
    assert none.axes("sp") == ()
    for kind in ("a2a+p2p", "p2p a2a"):
        with pytest.raises(shoal.UnsupportedError, match=re.escape(f"--cp-comm-type {kind}; expected one of")):
            Layout.from_megatron(f"{flags} --cp-comm-type {kind}", 4)
