# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Routers, losses and drops of shoal.moe against the oracle, in the interpreter.

Cases of many shapes are one program: what is traced is cheap, a process is not.
"""

import os

import numpy as np
import pytest

import moe_oracle as oracle
from frontend_testing import assert_same, evaluate, shoal
from shoal.moe import MoeConfig, balance_losses, limit, metrics_of, route, update_expert_bias
from shoal.moe.noise import later_choices, priorities

HIDDEN = 4
# Programs of random cases; a longer run has more of them.
PROGRAMS = range(int(os.environ.get("SHOAL_MOE_PROGRAMS", "1")))
PRE = {"moe_router_pre_softmax": True}


def tied(rng, *shape):
    """Numbers of which many are equal."""
    return rng.integers(-4, 5, shape).astype(np.float32) / 2


def routed(logits, config, **options):
    """The routing of logits as they are: the router's matrix is the identity."""
    return route(logits, {"router": np.eye(logits.shape[-1], dtype=np.float32)}, config, **options)


def in_groups(function, logits, *others):
    """The oracle's results of each group, stacked."""
    made = [function(*group) for group in zip(logits, *others)]
    return {
        "experts": np.stack([routing.experts for routing in made]),
        "weights": np.stack([routing.weights for routing in made]),
        "scores": np.stack([routing.scores for routing in made]),
    }


# Fields, and the oracle's arguments.
ROUTERS = {
    "pre-softmax": (PRE, {"normalize": False}),
    "pre-softmax, normalised": ({**PRE, "norm_topk_prob": True}, {}),
    "post-softmax": ({}, {"pre_softmax": False}),
    "sigmoid": ({"moe_router_score_function": "sigmoid", "norm_topk_prob": True}, {"score": "sigmoid"}),
    "sigmoid as it is": (
        {"moe_router_score_function": "sigmoid", "norm_topk_prob": False},
        {"score": "sigmoid", "normalize": False},
    ),
    "sqrtsoftplus, scaled": (
        {"moe_router_score_function": "sqrtsoftplus", "moe_router_topk_scaling_factor": 2.5,
         "norm_topk_prob": True},
        {"score": "sqrtsoftplus", "scale": 2.5},
    ),
    "pre-softmax, scaled": (
        {**PRE, "moe_router_topk_scaling_factor": 16.0}, {"normalize": False, "scale": 16.0},
    ),
}  # fmt: skip


def draw_case(rng):
    """Groups, tokens, experts and choices of a layer, among them k = E and few tokens."""
    experts = int(rng.choice([2, 3, 4, 6, 8]))
    k = int(rng.integers(1, experts + 1))
    return int(rng.integers(1, 4)), int(rng.integers(1, 9)), experts, k


def assert_routing(name, actual, expected):
    assert actual.experts.tolist() == expected["experts"].tolist(), name
    assert_same(f"{name}: weights", actual.weights, expected["weights"], np.float32)
    assert_same(f"{name}: scores", actual.scores, expected["scores"], np.float32)


@pytest.mark.parametrize("seed", PROGRAMS)
def test_top_k_routers_of_random_shapes(tmp_path, seed):
    rng, traced, expected = np.random.default_rng(1 + seed), {}, {}
    logits = {}
    for i in range(70):
        groups, tokens, experts, k = draw_case(rng)
        name = list(ROUTERS)[i % len(ROUTERS)]
        fields, options = ROUTERS[name]
        if k == 1 and name == "post-softmax":
            fields = {**fields, "norm_topk_prob": True}  # asked for by name
        config = MoeConfig(experts, HIDDEN, moe_router_topk=k, **fields)
        key = f"case{i}"
        logits[key] = tied(rng, groups, tokens, experts)
        traced[key] = config
        expected[key] = in_groups(lambda x, k=k, o=options: oracle.route(x, k, **o), logits[key])
    actual = evaluate(
        tmp_path, lambda args: {key: routed(args[key], traced[key]) for key in args}, logits
    )
    for key in logits:
        assert_routing(f"{key} of {traced[key]}", actual[key], expected[key])


def test_biased_and_limited_routers(tmp_path):
    rng = np.random.default_rng(2)
    logits, bias = tied(rng, 2, 7, 8), tied(rng, 8) / 8
    cases = {
        "bias": ({"moe_router_score_function": "sigmoid", "moe_router_enable_expert_bias": True},
                 {"score": "sigmoid", "bias": bias}),
        "softmax with bias": ({**PRE, "moe_router_enable_expert_bias": True},
                              {"normalize": False, "bias": bias}),
        "v2": ({**PRE, "moe_router_num_groups": 4, "moe_router_group_topk": 2, "group_best_of": 1},
               {"normalize": False, "num_groups": 4, "group_topk": 2, "group_best_of": 1}),
        "megatron": ({"moe_router_score_function": "sigmoid", "moe_router_num_groups": 2,
                      "moe_router_group_topk": 1},
                     {"score": "sigmoid", "num_groups": 2, "group_topk": 1}),
        "v3": ({"moe_router_score_function": "sigmoid", "moe_router_enable_expert_bias": True,
                "moe_router_num_groups": 4, "moe_router_group_topk": 2, "group_best_of": 2,
                "moe_router_topk_scaling_factor": 2.5},
               {"score": "sigmoid", "bias": bias, "num_groups": 4, "group_topk": 2,
                "group_best_of": 2, "scale": 2.5}),
    }  # fmt: skip
    configs = {name: MoeConfig(8, HIDDEN, **fields) for name, (fields, _) in cases.items()}

    def run(logits, bias):
        return {
            name: routed(logits, c, bias=bias if c.moe_router_enable_expert_bias else None)
            for name, c in configs.items()
        }

    actual = evaluate(tmp_path, run, logits, bias)
    for name, (_, options) in cases.items():
        expected = in_groups(lambda x, o=options: oracle.route(x, 2, **o), logits)
        assert_routing(name, actual[name], expected)


@pytest.mark.parametrize("devices", [0, 3])
def test_other_routers(tmp_path, devices):
    rng = np.random.default_rng(3)
    logits = rng.standard_normal((3, 10, 4)).astype(np.float32)
    ids = rng.integers(0, 1000, (3, 10)).astype(np.int32)
    quiet = {"moe_router_load_balancing_type": ()}
    sinkhorn = {k: MoeConfig(4, HIDDEN, k, router_type="sinkhorn", **quiet) for k in (1, 2)}
    hashed = MoeConfig(4, HIDDEN, router_type="hash", **quiet)
    choosing = MoeConfig(4, HIDDEN, router_type="expert_choice", moe_expert_capacity_factor=1.0,
                         **quiet)  # fmt: skip

    def run(logits, ids):
        if devices:
            logits = shoal.constrain(logits, shoal.P("d"))
        return {
            "train 1": routed(logits, sinkhorn[1], training=True),
            "train 2": routed(logits, sinkhorn[2], training=True),
            "evaluate": routed(logits, sinkhorn[2]),
            "hash": routed(logits, hashed, token_ids=ids),
            "choice": routed(logits, choosing),
        }

    mesh = shoal.Mesh(d=devices) if devices else None
    actual = evaluate(tmp_path, run, logits, ids, mesh=mesh, devices=devices)
    for name, k, training in (("train 1", 1, True), ("train 2", 2, True), ("evaluate", 2, False)):
        expected = in_groups(lambda x: oracle.sinkhorn_route(x, k, training), logits)
        assert_routing(name, actual[name], expected)
    assert_routing("hash", actual["hash"], in_groups(lambda i: oracle.hash_route(i, 2, 4), ids))
    chosen = [oracle.expert_choice(group, 5) for group in logits]
    assert actual["choice"].tokens.tolist() == [tokens.tolist() for tokens, _ in chosen]
    assert_same("choice", actual["choice"].weights, np.stack([w for _, w in chosen]), np.float32)


def test_the_cosine_router_and_a_router_with_a_bias(tmp_path):
    rng = np.random.default_rng(4)
    x, projection, experts, bias = (
        rng.standard_normal(shape).astype(np.float32) for shape in ((1, 5, 6), (6, 3), (3, 4), (4,))
    )
    cosine = MoeConfig(4, HIDDEN, router_type="cosine")
    biased = MoeConfig(4, HIDDEN, add_router_bias=True)

    def run(x, projection, experts, bias):
        params = {"projection": projection, "router": experts, "temperature": np.float32(9.0)}
        plain = shoal.matmul(projection, experts)
        return route(x, params, cosine), route(x, {"router": plain, "router_bias": bias}, biased)

    by_cosine, with_bias = evaluate(tmp_path, run, x, projection, experts, bias)
    rows = x[0] @ projection
    cosines = (rows / np.linalg.norm(rows, axis=-1, keepdims=True)) @ (experts / np.linalg.norm(experts, axis=0))
    assert_same("cosine", by_cosine.logits[0], cosines * 100, np.float32, 1e-5)  # e^9 is cut
    expected = x[0] @ projection @ experts + bias
    assert_same("bias", with_bias.logits[0], expected, np.float32, 1e-5)


def test_losses_and_the_bias_of_a_step(tmp_path):
    rng = np.random.default_rng(5)
    logits, mask = tied(rng, 4, 6, 4), rng.random((4, 6)) < 0.7
    mask[:, 0] = True
    names = ("aux_loss", "seq_aux_loss", "global_aux_loss", "gshard")
    config = MoeConfig(4, HIDDEN, moe_router_load_balancing_type=names, moe_z_loss_coeff=1e-3, **PRE)
    ones = np.ones_like(mask)

    def run(logits, mask):
        routing = routed(logits, config, mask=mask)
        counts = limit(routing, config).counts()
        bias = update_expert_bias(np.zeros(4, np.float32), shoal.sum(counts, 0), config)
        return balance_losses(routing, config, 2), bias

    for valid in (mask, ones):
        losses, bias = evaluate(tmp_path, run, logits, valid)
        expected = expected_losses(logits, valid)
        for name, value in expected.items():
            assert_same(name, losses[name], value, np.float32, 1e-5)
        assert set(losses) == set(expected)
        counts = oracle.one_hot(oracle.route(logits[valid], 2).experts, 4).sum((0, 1))
        assert_same("bias", bias, oracle.update_bias(np.zeros(4), counts), np.float32)


def test_groups_of_padding_alone(tmp_path):
    """They count nowhere, and nothing becomes NaN; nor where all tokens are padding."""
    logits = tied(np.random.default_rng(6), 3, 6, 4)
    names = ("aux_loss", "seq_aux_loss", "global_aux_loss", "gshard")
    config = MoeConfig(4, HIDDEN, moe_router_load_balancing_type=names, moe_z_loss_coeff=1e-3, **PRE)

    def run(logits, mask):
        def total(logits):
            losses = balance_losses(routed(logits, config, mask=mask), config)
            return shoal.sum(shoal.stack(list(losses.values()))), losses

        return shoal.value_and_grad(total, has_aux=True)(logits)

    mask = np.ones((3, 6), bool)
    (_, whole), _ = evaluate(tmp_path, run, logits[:2], mask[:2])
    mask[2] = False
    (_, losses), gradient = evaluate(tmp_path, run, logits, mask)
    for name, expected in whole.items():
        assert_same(name, losses[name], expected, np.float32)
    assert np.isfinite(gradient).all() and not gradient[2].any()
    (total, _), gradient = evaluate(tmp_path, run, logits, np.zeros((3, 6), bool))
    assert total == 0 and not gradient.any()


def expected_losses(logits, valid):
    """By the oracle, of groups of 6 tokens, two sequences of 12, and all 24."""

    def aux(rows):
        groups = zip(logits.reshape(-1, rows, 4), valid.reshape(-1, rows))
        return np.mean([aux_of(group, mask) for group, mask in groups])

    def aux_of(group, mask):
        routing = oracle.route(group, 2)
        counts = oracle.one_hot(routing.experts, 4)[mask].sum((0, 1))
        return oracle.aux_loss(routing.scores, counts, 2, mask)

    gshard = [
        oracle.gshard_loss(oracle.softmax(group[mask]), oracle.route(group[mask], 1).experts[:, 0])
        for group, mask in zip(logits, valid)
    ]
    return {
        "aux_loss": aux(6),
        "seq_aux_loss": aux(12),
        "global_aux_loss": aux(24),
        "gshard": np.mean(gshard),
        "z_loss": oracle.z_loss(logits[valid]),
    }


def test_experts_do_not_count_padding(tmp_path):
    """Where they choose more tokens than there are real ones."""
    logits, mask = tied(np.random.default_rng(7), 1, 8, 4), np.arange(8)[None] < 3
    config = MoeConfig(4, HIDDEN, router_type="expert_choice", moe_expert_capacity_factor=1.0,
                       moe_router_load_balancing_type=())  # fmt: skip
    routing, metrics = evaluate(
        tmp_path, lambda x, m: (limit(routed(x, config, mask=m), config), metrics_of(routed(x, config, mask=m))),
        logits, mask,
    )  # fmt: skip
    assert metrics.counts.tolist() == metrics.kept.tolist() == [3, 3, 3, 3]
    assert (routing.weights[..., 3:] == 0).all() and (routing.weights[..., :3] > 0).all()


def test_other_numbers_of_choices(tmp_path):
    """A layer may be evaluated with more or fewer experts a token than it is trained with."""
    logits, config = tied(np.random.default_rng(8), 2, 5, 4), MoeConfig(4, HIDDEN, **PRE)
    made = evaluate(tmp_path, lambda x: [routed(x, config, k=k) for k in (1, 3, 9)], logits)
    for routing, k in zip(made, (1, 3, 4)):
        expected = in_groups(lambda x, k=k: oracle.route(x, k, normalize=False), logits)
        assert_routing(f"k = {k}", routing, expected)


def test_importance_and_load(tmp_path):
    logits = tied(np.random.default_rng(6), 1, 9, 4)
    config = MoeConfig(4, HIDDEN, moe_router_load_balancing_type=("importance",), gate_noise=1.0)
    losses = evaluate(tmp_path, lambda x: balance_losses(routed(x, config), config), logits)
    scores = oracle.softmax(logits[0])
    thresholds = oracle.top_k(scores, 2)[0][:, -1]
    expected = oracle.importance_loss(scores, thresholds, 1.0)
    assert_same("importance", losses["importance"], expected, np.float32, 1e-5)


LIMITS = {
    "position": {"moe_token_drop_policy": "position"},
    "token order": {"moe_token_drop_policy": "position", "position_order": "token"},
    "priority": {"moe_token_drop_policy": "position", "batch_prioritized_routing": True},
    "probs": {},
    "renormalised": {"moe_token_drop_policy": "position", "renormalize_after_drop": True},
    "random": {"moe_token_drop_policy": "random"},
}


def oracle_drop(name, routing, room, drawn):
    options = {
        "position": {},
        "token order": {"order": "token"},
        "priority": {"priority": routing.scores.max(-1)},
        "probs": {"policy": "importance"},
        "renormalised": {"renormalize": True},
        "random": {"policy": "importance", "importance": drawn},
    }[name]
    return oracle.drop(routing, room, **options)


def assert_equally_good(what, routing, actual, expected):
    """Weights that differ in their last bit alone, by the order of a sum, may be taken for each other."""
    for e in range(routing.scores.shape[1]):
        kept = [np.sort(routing.weights[(routing.experts == e) & mask]) for mask in (actual, expected)]
        assert_same(what, *kept, np.float32, 1e-6)


@pytest.mark.parametrize("seed", PROGRAMS)
def test_drops_of_random_shapes(tmp_path, seed):
    rng, configs, logits = np.random.default_rng(7 + seed), {}, {}
    for i in range(48):
        groups, tokens, experts, k = draw_case(rng)
        fields = LIMITS[list(LIMITS)[i % len(LIMITS)]]
        factor = float(rng.choice([0.25, 0.5, 1.0, 1.25, 3.0]))
        configs[f"case{i}"] = MoeConfig(experts, HIDDEN, k, **PRE, norm_topk_prob=True,
                                        moe_expert_capacity_factor=factor, **fields)  # fmt: skip
        logits[f"case{i}"] = tied(rng, groups, tokens, experts)

    def run(logits, key):
        made = {}
        for name, config in configs.items():
            routing = limit(routed(logits[name], config), config, key)
            made[name] = routing, metrics_of(routing), priorities(routing.experts.shape, key)
        return made

    actual = evaluate(tmp_path, run, logits, np.array([3, 4], np.int32))
    for i, (name, config) in enumerate(configs.items()):
        routing, metrics, drawn = actual[name]
        room = config.capacity(logits[name].shape[1])
        rule = list(LIMITS)[i % len(LIMITS)]
        for g, group in enumerate(logits[name]):
            base = oracle.route(group, config.moe_router_topk)
            expected = oracle_drop(rule, base, room, drawn[g])
            what = f"{name}: {rule}, {config.num_experts} experts, room {room}"
            kept = expected.kept
            if rule == "probs" and (routing.kept[g] != kept).any():
                assert_equally_good(what, base, routing.kept[g], kept)
                continue
            assert routing.kept[g].tolist() == kept.tolist(), what
            assert routing.place[g][kept].tolist() == expected.place[kept].tolist(), what
            assert_same(what, routing.weights[g], expected.weights, np.float32)
        assert metrics.kept.sum() == routing.kept.sum()
        assert metrics.counts.sum() == routing.kept.size


def test_masked_tokens_take_no_room_and_count_nowhere(tmp_path):
    """As if they were not there."""
    rng = np.random.default_rng(8)
    logits, mask = tied(rng, 1, 12, 4), rng.random((1, 12)) < 0.6
    rules = [rule for rule in LIMITS if rule != "random"]
    configs = {
        rule: MoeConfig(4, HIDDEN, **PRE, norm_topk_prob=True, moe_expert_capacity_factor=0.5, **LIMITS[rule])
        for rule in rules
    }
    actual = evaluate(
        tmp_path, lambda x, m: {r: limit(routed(x, c, mask=m), c) for r, c in configs.items()}, logits, mask
    )
    for rule in rules:
        expected = oracle_drop(rule, oracle.route(logits[mask], 2), 3, None)
        routing = actual[rule]
        assert not routing.kept[~mask].any() and not routing.weights[~mask].any()
        assert routing.kept[mask].tolist() == expected.kept.tolist(), rule
        places = routing.place[mask][expected.kept]
        assert places.tolist() == expected.place[expected.kept].tolist(), rule


def test_noise(tmp_path):
    """Sampled choices are those of the numbers drawn; without a key there is no noise."""
    logits = tied(np.random.default_rng(9), 2, 64, 4)
    second = MoeConfig.gshard(4, HIDDEN, moe_expert_capacity_factor=None)
    sample = MoeConfig(4, HIDDEN, 1, noisy_gate_policy="RSample")
    gumbel = MoeConfig.deepspeed(4, HIDDEN, 2)
    noisy = MoeConfig(4, HIDDEN, gate_noise=1.0)
    jittered = MoeConfig(4, HIDDEN, moe_input_jitter_eps=0.25)

    def run(x, key):
        made = {
            "second": limit(routed(x, second), second, key),
            "second u": later_choices((2, 64, 1), key),
            "first": routed(x, sample, key=key),
            "gumbel": routed(x, gumbel, key=key),
            "noisy": routed(x, noisy, key=key),
            "jittered": routed(x, jittered, key=key),
        }
        for name, config in (("sample", sample), ("pair", gumbel), ("gauss", noisy), ("jitter", jittered)):
            made[f"quiet {name}"] = routed(x, config)
        return made

    made = evaluate(tmp_path, run, logits, np.array([1, 2], np.int32))
    for g in range(2):
        expected = oracle.random_later_choices(oracle.route(logits[g], 2), made["second u"][g])
        assert_same("second", made["second"].weights[g], expected.weights, np.float32)
    scores = oracle.softmax(logits)
    first = made["first"]
    assert_same("weights", first.weights, np.take_along_axis(scores, first.experts, -1), np.float32)
    assert (first.experts != made["quiet sample"].experts).any()
    pair = made["gumbel"].experts
    assert (pair[..., 0] == logits.argmax(-1)).all() and (pair[..., 0] != pair[..., 1]).all()
    assert (pair != made["quiet pair"].experts).any()
    moved = made["noisy"].scores - made["quiet gauss"].scores
    assert 0.01 < np.abs(moved).mean() < 0.2
    ratio = made["jittered"].logits[logits != 0] / logits[logits != 0]
    assert 0.75 <= ratio.min() < 0.8 and 1.2 < ratio.max() <= 1.25
    assert (made["quiet jitter"].logits == logits).all()
