# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Decoders whose layers are stages of a pipeline: what they compute without one."""

import json
from dataclasses import replace

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from moe_layouts import statistics
from shoal import P
from shoal.frontend.pytrees import flatten
from shoal.models import Model, from_config
from shoal.moe import Layout, Schedule
from shoal_testing import ROOT

MODELS = ROOT / "test/python/models/expected"
LENGTH, BATCH = 6, 8


def model_of(family, layers, layout=Layout(), moe=None, **fields):
    config = json.loads((MODELS / f"{family}.json").read_text())["config"]
    made = from_config({**config, "num_hidden_layers": layers, **fields}, layout)
    return Model(replace(made.config, moe=made.config.moe.replace(**(moe or {}))), layout)


def tokens_of(model):
    return np.random.default_rng(3).integers(0, model.config.vocab_size, (BATCH, LENGTH + 1)).astype(np.int32)


def step_of(model):
    def step(params, tokens, *key):
        def loss(params):
            return shoal.models.loss_of(params, tokens, model.config, model.layout, key=key[0] if key else None)

        return shoal.value_and_grad(loss, has_aux=True)(params)

    return step


def compare(model, actual, other, expected, tolerance=1e-5):
    """Losses, metrics, and gradients as a list of layers."""
    for (value, grads), (wanted, right) in [(actual, expected)]:
        for a, e in zip(flatten(value)[0], flatten(wanted)[0]):
            assert_same("loss and metrics", np.asarray(a), np.asarray(e), tolerance=tolerance)
        made, right = flatten(model.to_layers(grads))[0], flatten(other.to_layers(right))[0]
        assert len(made) == len(right)
        for a, e in zip(made, right):
            assert_same("gradient", a, e, tolerance=tolerance)


BALANCED = {"moe_aux_loss_coeff": (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08), "moe_z_loss_coeff": 0.01}
# Layout, layers, what experts are beside the model's
LAYOUTS = {
    "four stages": (Layout.folded({"pp": 4}), 4),
    "interleaved": (Layout.folded({"pp": 4}).scheduled(4, 2), 8),
    "two layers a stage": (Layout.folded({"pp": 2}).scheduled(4, 2), 8),
    "with dp, tp and ep": (Layout.folded({"tp": 2, "dp": 2, "pp": 2}, {"ep": 4, "pp": 2}).scheduled(2, 2), 4),
    "with a ring": (
        Layout.folded({"cp": 3, "pp": 2}, {"ep": 3, "pp": 2}, cp_comm_type="p2p", cp_balanced=True).scheduled(2), 2
    ),
    "with heads exchanged": (
        Layout.folded({"tp": 2, "cp": 2, "pp": 2}, {"ep": 4, "pp": 2}, cp_comm_type="a2a").scheduled(2, 2), 4
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_layouts_with_stages(tmp_path, name):
    """As the same micro-batches on one device: loss, metrics of each layer, all gradients."""
    layout, layers = LAYOUTS[name]
    moe = {**BALANCED, "moe_aux_loss_coeff": BALANCED["moe_aux_loss_coeff"][:layers]}
    model = model_of("mixtral", layers, layout, moe)
    other = model.over(Layout(schedule=Schedule(layout.schedule.microbatches)))
    params = model_of("mixtral", layers).init(1)
    tokens = tokens_of(model)
    expected = evaluate(tmp_path, step_of(other), other.to_stages(params), tokens)
    actual = evaluate(
        tmp_path, step_of(model), model.to_stages(params), tokens, mesh=layout.mesh,
        devices=layout.mesh.size, in_shardings=(model.shardings(), None),
    )  # fmt: skip
    assert np.asarray(actual[0][1]["counts"]).shape == (layers, model.config.moe.num_experts)
    compare(model, actual, other, expected)
    metrics, rates = actual[0][1], np.array(moe["moe_aux_loss_coeff"])
    whole = (rates * metrics["aux_loss"] + moe["moe_z_loss_coeff"] * metrics["z_loss"]).mean()
    assert metrics["balance"] == pytest.approx(whole, rel=1e-5)


@pytest.mark.parametrize("dispatcher", ["alltoall", "allgather", "sort"])
def test_dispatchers_in_stages(tmp_path, dispatcher):
    """Regions for one device and ragged rows in a stage; a model without a schedule, whose groups are sequences."""
    moe = {"moe_token_dispatcher_type": dispatcher, "moe_group_size": LENGTH, "moe_aux_loss_coeff": 0.1}
    layout = Layout.folded({"dp": 2, "pp": 2}, {"ep": 2, "pp": 2}).scheduled(2)
    model, other = model_of("mixtral", 2, layout, moe), model_of("mixtral", 2, moe=moe)
    params, tokens = other.init(1), tokens_of(model)
    expected = evaluate(tmp_path, step_of(other), params, tokens)
    actual = evaluate(
        tmp_path, step_of(model), model.to_stages(params), tokens, mesh=layout.mesh, devices=4,
        in_shardings=(model.shardings(), None),
    )  # fmt: skip
    compare(model, actual, other, expected)


def test_dense_layers_in_front_stay_there(tmp_path):
    """DeepSeek-V3's; noise of a key is the layer's and the micro-batch's."""
    layout = Layout.folded({"pp": 2}).scheduled(2)
    moe = {"moe_input_jitter_eps": 0.1}
    model = model_of("deepseek_v3", 5, layout, moe, first_k_dense_replace=1)
    other = model.over(Layout(schedule=Schedule(2)))
    assert model.stages().outside == 1 and model.stages().each == 2
    params, tokens = model_of("deepseek_v3", 5, moe=moe, first_k_dense_replace=1).init(1), tokens_of(model)
    key = np.array([1, 2], np.int32)
    expected = evaluate(tmp_path, step_of(other), other.to_stages(params), tokens, key)
    actual = evaluate(tmp_path, step_of(model), model.to_stages(params), tokens, key, mesh=layout.mesh, devices=2)
    compare(model, actual, other, expected)


def test_padding_is_each_micro_batches(tmp_path):
    """A mask goes to the stages by rows: padding is not routed in any."""
    layout = Layout.folded({"pp": 2}).scheduled(2)
    model = model_of("mixtral", 2, layout)
    other = model.over(Layout(schedule=Schedule(2)))
    params, tokens = model.over(Layout()).init(1), tokens_of(model)
    mask = np.arange(LENGTH + 1) < np.array([[7, 3, 5, 1, 7, 2, 6, 4]]).T

    def decoded(model):
        return lambda p, t, mask: shoal.models.decode(p, t, model.config, model.layout, mask=mask)

    expected = evaluate(tmp_path, decoded(other), other.to_stages(params), tokens, mask)
    actual = evaluate(
        tmp_path, decoded(model), model.to_stages(params), tokens, mask, mesh=layout.mesh, devices=2
    )
    assert actual.metrics.counts.sum() == 2 * 2 * mask.sum()
    for a, e in zip(flatten(actual)[0], flatten(expected)[0]):
        assert_same("decoded", a, e, tolerance=1e-5)


def test_what_a_model_sends():
    """Ticks, its result in parts and back, one sum of the table's gradient and one of a norm's; a scalar."""
    layout = Layout.folded({"pp": 2}).scheduled(2, 2)
    model = model_of("mixtral", 4, layout)
    places, params = model.shardings(), model.init()
    share, width = 1 / 2, 4 * model.config.hidden_size
    ticks, whole = 2 * 2 + 2 - 1, BATCH * LENGTH * width

    def text(function, outs):
        given = (params, tokens_of(model))
        return shoal.trace(function, given, layout.mesh, in_shardings=(places, None), out_shardings=outs)

    sent, kinds = statistics(text(lambda p, t: model.loss(p, t)[0], P()))
    assert kinds["collective_permute"] == ticks and sent["collective_permute"] == ticks * whole / 2
    assert sum(sent.values()) == ticks * whole / 2 + whole * share + 2 * 4 * share
    sent, kinds = statistics(text(lambda p, t: shoal.grad(lambda p: model.loss(p, t)[0])(p), places))
    sums = 2 * (model.config.vocab_size + 1) * width * share
    assert kinds["collective_permute"] == 2 * ticks and kinds["all_reduce"] == 2
    assert sum(sent.values()) == 2 * (ticks * whole / 2 + whole * share) + sums


def test_files_have_layers(tmp_path):
    model = model_of("mixtral", 8, Layout.folded({"pp": 2}).scheduled(4, 2))
    params = model.init(2)
    assert [p.shape for p in flatten(params)[0]] == flatten_shapes(model.shapes())
    for leaf, spec in zip(flatten(params["stages"])[0], flatten(model.shardings()["stages"])[0]):
        assert spec.dims[:2] == (None, ("x0",)) and len(spec.dims) <= leaf.ndim
    model.write(tmp_path, params)
    plain = model.over(Layout()).read(tmp_path)
    again = flatten(model.read(tmp_path))[0]
    assert all(np.array_equal(a, b) for a, b in zip(flatten(params)[0], again))
    assert all(np.array_equal(a, b) for a, b in zip(flatten(model.to_layers(params))[0], flatten(plain)[0]))


def flatten_shapes(tree):
    if isinstance(tree, dict):
        return [shape for key in sorted(tree) for shape in flatten_shapes(tree[key])]
    return [shape for part in tree for shape in flatten_shapes(part)] if isinstance(tree, list) else [tree]


def test_what_is_no_stage():
    def fails(message, *args, **fields):
        with pytest.raises(shoal.TraceError, match=message):
            model_of(*args, **fields).shapes()

    two = Layout.folded({"pp": 2})
    fails('6 layers are not divisible by 2 stages on each of 2 devices of "pp"', "mixtral", 6, two.scheduled(2, 2))
    kinds = ["sliding_attention", "full_attention"] * 3
    fails(r"stages of 3 layers: layer 3 \(experts, no window\) would be in the place of layer 0 \(experts, window",
          "gpt_oss", 6, two, layer_types=kinds, sliding_window=4)  # fmt: skip
    assert model_of("gpt_oss", 4, two, layer_types=kinds[:4], sliding_window=4).stages().each == 2
    model = model_of("mixtral", 2, two.scheduled(3))
    with pytest.raises(shoal.TraceError, match="8 sequences are not divisible by 3 micro-batches"):
        shoal.trace(step_of(model), (model.init(), tokens_of(model)), two.mesh)
    with pytest.raises(shoal.TraceError, match="Schedule: microbatches=0 is not a positive integer"):
        Schedule(0)


FLAGS = "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 4 --num-layers 16 "


def test_megatrons_command_line():
    def schedule(flags, devices=16):
        return Layout.from_megatron(FLAGS + flags, devices).schedule

    assert schedule("") == Schedule(1, 1)
    assert schedule("--global-batch-size 64 --micro-batch-size 4") == Schedule(8, 1)
    assert schedule("--num-layers-per-virtual-pipeline-stage 2 --global-batch-size 16") == Schedule(8, 2)
    assert schedule("--num-virtual-stages-per-pipeline-rank 4") == Schedule(1, 4)
    layout = Layout.from_megatron(FLAGS + "--num-layers-per-virtual-pipeline-stage 2 --global-batch-size 8", 16)
    assert model_of("mixtral", 16, layout).stages().each == 2
    plain = "--tensor-model-parallel-size 2 --global-batch-size 64"
    with pytest.warns(UserWarning, match="--global-batch-size has no effect: without stages"):
        assert Layout.from_megatron(plain, 4).schedule == Schedule()  # micro-batches of the training step
    for flags, message in {
        "--num-layers-per-virtual-pipeline-stage 3": "--num-layers 16 is not divisible by --num-layers-per-virtual",
        "--num-virtual-stages-per-pipeline-rank 2 --num-layers-per-virtual-pipeline-stage 2": "say the same",
        "--global-batch-size 7": "--global-batch-size 7 is not divisible by --micro-batch-size times dp = 2",
    }.items():
        with pytest.raises(shoal.TraceError, match=message):
            schedule(flags)
    with pytest.raises(shoal.UnsupportedError, match="--decoder-first-pipeline-num-layers: stages of different"):
        schedule("--decoder-first-pipeline-num-layers 2")


def test_executable():
    """Interleaved, 4 stages on 4 processes, a training step's loss and gradients."""
    layout = Layout.folded({"pp": 4}).scheduled(4, 2)
    model = model_of("mixtral", 8, layout)
    other = model.over(Layout(schedule=Schedule(4)))
    params, tokens = model.over(Layout()).init(1), tokens_of(model)
    given = model.to_stages(params), tokens
    actual = shoal.compile(step_of(model), given, layout.mesh, in_shardings=(model.shardings(), None)).run(given)
    plain = other.to_stages(params), tokens
    expected = shoal.compile(step_of(other), plain, shoal.Mesh(one=1)).run(plain)
    compare(model, actual, other, expected)
