# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""State of a loss that a step moves, and no optimiser: experts' biases of models, and what a user declares."""

import dataclasses
from functools import partial

import numpy as np
import pytest
from shoal_testing import TARGET

if TARGET != "cpu":
    pytest.skip("pools run programs for CPUs", allow_module_level=True)

import shoal
from frontend_testing import evaluate
from shoal import TraceError, TraceTypeError, checkpoints, optim, train
from shoal.moe import Layout, MoeConfig
from shoal.moe.layout import SINGLE

V3 = {
    "model_type": "deepseek_v3", "vocab_size": 32, "hidden_size": 16, "num_hidden_layers": 3,
    "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 16, "hidden_act": "silu",
    "n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1, "moe_intermediate_size": 8,
    "n_group": 1, "topk_group": 1, "norm_topk_prob": True, "routed_scaling_factor": 2.5,
    "first_k_dense_replace": 1, "kv_lora_rank": 6, "q_lora_rank": None, "qk_nope_head_dim": 4,
    "qk_rope_head_dim": 4, "v_head_dim": 4, "rms_norm_eps": 1e-6, "max_position_embeddings": 64,
    "topk_method": "noaux_tc", "scoring_func": "sigmoid",
}  # fmt: skip
TOKENS = np.random.default_rng(0).integers(0, 32, (8, 9)).astype(np.int32)
# Of 4 experts; as far apart as a step of the bias, and about 1, where bfloat16 has no such numbers.
START = np.float32([1.0, 1.001, 1.002, 1.003])
RATE = 1e-3


def model_of(layout=SINGLE, layers=3, **fields):
    model = shoal.models.from_config({**V3, "num_hidden_layers": layers}, layout)
    moe = model.config.moe.replace(**fields)
    return dataclasses.replace(model, config=dataclasses.replace(model.config, moe=moe))


def started(model):
    """Parameters of one layer after the other, whose choices the biases make alone: scores are all alike."""
    params = shoal.models.Model(model.config).init(3)
    for layer in params["layers"][1:]:
        layer["moe"]["router"] *= 0.0
        layer["moe"]["expert_bias"] = START.copy()
    return model.to_stages(params)


def biases(model, state):
    """[layers with experts, E]."""
    layers = model.to_layers(shoal.frontend.pytrees.map_leaves(np.asarray, state.params))["layers"]
    return np.stack([layer["moe"]["expert_bias"] for layer in layers if "moe" in layer])


def moved(counts):
    """What a step adds."""
    return RATE * np.sign(np.mean(counts, -1, keepdims=True) - counts)


def stepped(tmp_path, model, optimizer, **options):
    """The states of two steps, the first one in front, and the metrics between them."""
    step = train.step(model.loss, optimizer, has_aux=True, **options)

    def run(state, tokens):
        first = step(state, tokens)
        return [first, step(first[0], tokens)]

    state, mesh = train.init(started(model), optimizer), model.layout.mesh
    at = {"in_shardings": (train.shardings(state, model.shardings()), None), "devices": mesh.size} if mesh else {}
    pairs = evaluate(tmp_path, run, state, TOKENS, mesh=mesh, **at)
    return [state, *(after for after, _ in pairs)], [metrics for _, metrics in pairs]


@pytest.mark.parametrize(
    "fields, options",
    [
        ({}, {}),
        ({}, {"compute": "bfloat16", "micro_batches": 4}),
        ({"moe_router_score_function": "softmax", "moe_router_pre_softmax": True}, {"compute": "float16"}),
    ],
    ids=["plain", "bfloat16 micro-batches", "softmax float16"],
)
def test_a_bias_moves_against_the_load_of_the_whole_batch(tmp_path, fields, options):
    """By its rate alone, in its own bits: AdamW decays the other parameters by a tenth."""
    model = model_of(**fields)
    states, metrics = stepped(tmp_path, model, optim.adamw(1e-2, weight_decay=10.0), **options)
    expected = np.stack([START, START])
    for state, found in zip(states[1:], metrics):
        counts = found["counts"]
        assert counts.sum(-1).tolist() == [2 * TOKENS[:, 1:].size] * 2
        expected = (expected + moved(counts)).astype(np.float32)
        np.testing.assert_allclose(biases(model, state), expected, rtol=0, atol=1e-7)
    # The two largest at first, which float32 tells apart and bfloat16 does not.
    assert (metrics[0]["counts"] > 0).tolist() == [[False, False, True, True]] * 2
    router = states[1].params["layers"][1]["moe"]["wi"]
    assert np.abs(np.asarray(router) - 0.9 * started(model)["layers"][1]["moe"]["wi"]).max() < 0.011


def test_a_bias_of_stages_has_the_rows_of_its_layers(tmp_path):
    model = model_of()
    staged = model_of(Layout.folded({"pp": 2}, {"pp": 2}).scheduled(4))
    found = [stepped(tmp_path, each, optim.sgd(0.1)) for each in (model, staged)]
    (one, plain), (other, in_stages) = found
    for a, b in zip(plain, in_stages):
        np.testing.assert_array_equal(a["counts"], b["counts"])
    for a, b in zip(one[1:], other[1:]):
        np.testing.assert_allclose(biases(staged, b), biases(model, a), rtol=0, atol=1e-7)
    assert np.unique(biases(staged, found[1][0][-1])).size > 2


def test_a_bias_stays_where_gradients_are_not_finite(tmp_path):
    """A step that is left out moves nothing: the first, whose scale is too large."""
    scaled = optim.dynamic_loss_scale(optim.sgd(0.1), init_scale=2.0**24, backoff_factor=2.0**-20)
    model = model_of()
    states, metrics = stepped(tmp_path, model, scaled, compute="float16")
    assert [int(found["skipped"]) for found in metrics] == [1, 1]
    first, second, third = (biases(model, state) for state in states)
    np.testing.assert_array_equal(second, first)
    np.testing.assert_allclose(third - second, moved(metrics[1]["counts"]), atol=1e-6)


def test_a_model_from_one_sequence_to_another_has_biases_too(tmp_path):
    moe = MoeConfig.flat(4, 8, moe_router_score_function="sigmoid", moe_router_enable_expert_bias=True)
    model = shoal.models.EncoderDecoder(32, 8, 2, 8, (True,), (False, True), moe)
    opt = optim.adamw(1e-2, weight_decay=10.0, mask=shoal.models.decay_mask)
    words = TOKENS % 29 + 3
    batch = {"source": words, "target": np.concatenate([words[:, 1:], np.full((8, 1), 2, np.int32)], 1)}
    state = train.init(model.init(), opt)
    step = train.step(model.loss, opt, has_aux=True, seed=0, micro_batches=2)
    after, metrics = evaluate(tmp_path, step, state, batch)
    found = [after.params["encoder"][0], after.params["decoder"][1]]
    for layer, counts in zip(found, np.asarray(metrics["counts"])):
        np.testing.assert_allclose(np.asarray(layer["moe"]["expert_bias"]), moved(counts), atol=1e-9)


def test_a_run_goes_on_on_other_devices_with_its_biases(tmp_path):
    """Ten steps, five of them on two devices: the same losses, choices and biases; the load is more even."""
    one, two = model_of(layers=2), model_of(Layout.folded({"dp": 2}, {"ep": 2}), layers=2)
    opt = optim.adamw(3e-3)

    def run(model, state, at, first, last):
        placed = {"in_shardings": (at, None), "out_shardings": (at, None)} if model.layout.mesh else {}
        step = shoal.jit(train.step(model.loss, opt, has_aux=True), mesh=model.layout.mesh, donate_argnums=0, **placed)
        losses = []
        for _ in range(first, last):
            state, metrics = step(state, TOKENS)
            losses.append(float(metrics["loss"]))
        return state, losses, np.asarray(metrics["counts"])

    state = train.init(started(one), opt)
    state, _, _ = run(one, state, None, 0, 5)
    series = checkpoints.Series(tmp_path)
    series(state)
    at = train.shardings(state, two.shardings())
    again = series.load(train.init(two.init(), opt), mesh=two.layout.mesh, sharding=at)
    assert (biases(two, again) == biases(one, state)).all()
    plain, losses, counts = run(one, state, None, 5, 10)
    other, losses_of_two, counts_of_two = run(two, again, at, 5, 10)
    np.testing.assert_allclose(losses_of_two, losses, rtol=1e-5)
    np.testing.assert_array_equal(counts_of_two, counts)
    np.testing.assert_allclose(biases(two, other), biases(one, plain), rtol=0, atol=1e-7)
    assert (counts.max(-1) < 2 * counts.mean(-1)).all()


def largest_seen(params, metrics):
    return {**params, "seen": shoal.maximum(params["seen"], metrics["largest"])}


def loss_with_state(params, batch):
    return shoal.mean((batch * params["w"] + params["seen"]) ** 2), {"largest": train.largest(batch.max())}


def test_state_of_a_users_own(tmp_path):
    """The largest number so far, over micro-batches of a bfloat16 computation."""
    buffers = train.Buffers(lambda params: {name: name == "seen" for name in params}, largest_seen)
    opt = optim.adamw(0.1, weight_decay=1.0)
    params = {"w": np.ones((), np.float32), "seen": np.float32(1.001)}
    made = train.step(
        loss_with_state, opt, has_aux=True, buffers=buffers, micro_batches=2, compute="bfloat16", inputs=False
    )
    kept = train.step(loss_with_state, opt, has_aux=True, buffers=buffers._replace(update=None))

    def run(state, batches):
        found = []
        for i in range(3):
            state, _ = made(state, batches[i])
            found.append(state.params["seen"])
        return found, kept(state, batches[1])[0].params["seen"]

    batches = np.float32([[0.1, 0.2, 0.3, most] for most in (0.5, 7.125, 3.0)])
    found, last = evaluate(tmp_path, run, train.init(params, opt), batches)
    assert [*map(float, found)] == [np.float32(1.001), 7.125, 7.125] and float(last) == 7.125


def traced(loss, **options):
    opt = optim.adamw(1e-2)
    state = train.init(started(model_of()), opt)
    shoal.trace(train.step(loss, opt, **options), (state, TOKENS))


def test_a_loss_that_hides_its_buffers_is_refused():
    model = model_of()
    for loss, has_aux in ((lambda p, b: model.loss(p, b), True), (lambda p, b: model.loss(p, b)[0], False)):
        with pytest.raises(TraceError, match=r"reads an experts' bias, and declares no buffers.*buffers=model.buffers"):
            traced(loss, has_aux=has_aux)
    traced(lambda p, b: model.loss(p, b), has_aux=True, buffers=model.buffers())
    traced(partial(model.loss), has_aux=True)


def traced_with(update):
    buffers = train.Buffers(lambda params: {name: name == "seen" for name in params}, update)
    state = train.init({"w": np.ones((), np.float32), "seen": np.float32(1)}, optim.sgd(1.0))
    step = train.step(loss_with_state, optim.sgd(1.0), has_aux=True, buffers=buffers)
    shoal.trace(step, (state, np.ones(2, np.float32)))


@pytest.mark.parametrize(
    "kind, message, call",
    [
        (
            TraceError,
            'move by the metric "counts", which the loss does not return',
            lambda: traced(lambda p, b: model_of().loss(p, b)[0], buffers=model_of().buffers()),
        ),
        (
            TraceTypeError,
            r"the update of the buffer params\['seen'\], Value\(float32\[\]\), is Value\(float32\[2\]\)",
            lambda: traced_with(lambda params, metrics: {**params, "seen": shoal.zeros((2,), "float32")}),
        ),
        (
            TraceTypeError,
            "route: bias of bfloat16: expected float32, as it moves by 0.001",
            lambda: shoal.trace(
                lambda p: model_of().loss(optim.cast(p, "bfloat16"), TOKENS)[0], (started(model_of()),)
            ),
        ),
    ],
    ids=["no counts", "another type", "few bits"],
)
def test_errors(kind, message, call):
    with pytest.raises(kind, match=message):
        call()


def test_what_decays():
    """Matrices and embeddings; no norm, bias or sink, of whatever rank: of stages they have three dimensions."""
    gpt = {
        "model_type": "gpt_oss", "vocab_size": 32, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
        "num_key_value_heads": 2, "head_dim": 8, "intermediate_size": 16, "num_local_experts": 4,
        "num_experts_per_tok": 2, "sliding_window": 8, "attention_bias": True, "max_position_embeddings": 64,
    }  # fmt: skip
    staged = Layout.folded({"pp": 2}, {"pp": 2}).scheduled(2)
    cosine = MoeConfig.flat(4, 8, router_type="cosine", add_bias_linear=True)
    trees = {
        "v3": model_of().init(),
        "v3 in stages": model_of(staged).init(),
        "gpt-oss": shoal.models.from_config(gpt).init(),
        "translation": shoal.models.EncoderDecoder(32, 8, 2, 8, (True,), (True,), MoeConfig.flat(4, 8)).init(),
        "layer": shoal.moe.init_params(cosine, 8),
    }
    for name, tree in trees.items():
        mask, paths = shoal.models.decay_mask(tree), shoal.frontend.pytrees.paths(tree)
        leaves, chosen = (shoal.frontend.pytrees.flatten(each)[0] for each in (tree, mask))
        for path, leaf, decays in zip(paths, leaves, chosen, strict=True):
            is_drawn = np.unique(leaf).size > 1
            assert decays is is_drawn, (name, path)
    buffers = shoal.models.buffer_mask(trees["v3 in stages"])
    assert sum(shoal.frontend.pytrees.flatten(buffers)[0]) == 1 and buffers["stages"][0]["moe"]["expert_bias"]
