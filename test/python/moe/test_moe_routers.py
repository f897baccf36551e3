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
from shoal.moe import Layout, MoeConfig, balance_losses, limit, metrics_of, route, update_expert_bias
from shoal.moe.noise import LATER, PRIORITIES, even

HIDDEN = 4
# Programs of random cases; a longer run has more of them.
PROGRAMS = range(int(os.environ.get("SHOAL_MOE_PROGRAMS", "1")))
PRE = {"moe_router_pre_softmax": True}
# Losses of coefficient 0 are not made.
COUNTED = {"moe_aux_loss_coeff": 1e-3, "moe_z_loss_coeff": 1e-3}
# Over which the groups of tokens lie, or the tokens of groups that are fewer.
DEVICES = {devices: Layout.folded({"dp": devices}) if devices > 1 else Layout() for devices in (1, 2, 4, 6)}


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


def draw_tokens(rng, groups, tokens, experts):
    """Logits, and which tokens are real: in every other case all of them, and always one of a group."""
    mask = (rng.random((groups, tokens)) < 0.7) | (rng.random() < 0.5)
    mask[:, 0] = True
    return tied(rng, groups, tokens, experts), mask


def traits(logits, mask, config):
    """Which special cases this is."""
    chosen = np.argsort(-logits, -1, kind="stable")[..., : config.moe_router_topk]
    room = config.rows(logits.shape[1])
    found = {
        "k = E": config.moe_router_topk == config.num_experts,
        "an expert without tokens": len(set(chosen[mask].ravel().tolist())) < config.num_experts,
        "ties": any(len(set(row)) < len(row) for row in logits.reshape(-1, config.num_experts).tolist()),
        "padding": not mask.all(),
        "C >= S": room is not None and room >= logits.shape[1],
    }
    return {name for name, holds in found.items() if holds}


def over(devices, function, tmp_path, *args):
    """`function(put, *args)` on so many devices; `put` spreads tokens [G, S, ...] over them."""
    layout = DEVICES[devices]
    return evaluate(
        tmp_path, lambda *args: function(layout.spread, *args), *args, mesh=layout.mesh,
        devices=layout.mesh.size if layout.mesh else 0,
    )  # fmt: skip


def assert_routing(name, actual, expected):
    assert actual.experts.tolist() == expected["experts"].tolist(), name
    assert_same(f"{name}: weights", actual.weights, expected["weights"], np.float32)
    assert_same(f"{name}: scores", actual.scores, expected["scores"], np.float32)


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("seed", PROGRAMS)
def test_top_k_routers_of_random_shapes(tmp_path, seed, devices):
    rng, configs, expected, given, seen = np.random.default_rng([1 + seed, devices]), {}, {}, {}, set()
    for i in range(70):
        groups, tokens, experts, k = draw_case(rng)
        name = list(ROUTERS)[i % len(ROUTERS)]
        fields, options = ROUTERS[name]
        if k == 1 and name == "post-softmax":
            fields = {**fields, "norm_topk_prob": True}  # asked for by name
        key = f"case{i}"
        configs[key] = MoeConfig.flat(experts, HIDDEN, moe_router_topk=k, **fields)
        given[key] = draw_tokens(rng, groups, tokens, experts)
        real = np.where(given[key][1][..., None], given[key][0], np.float32(0))  # padding is zeros
        expected[key] = in_groups(lambda x, k=k, o=options: oracle.route(x, k, **o), real)
        seen |= traits(*given[key], configs[key])
    assert {"k = E", "an expert without tokens", "ties", "padding"} <= seen

    def run(put, given):
        return {key: routed(put(x), configs[key], mask=put(mask)) for key, (x, mask) in given.items()}

    actual = over(devices, run, tmp_path, given)
    for key, (_, mask) in given.items():
        assert_routing(f"{key} of {configs[key]}", actual[key], expected[key])
        assert (actual[key].valid == mask).all()


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
    configs = {name: MoeConfig.flat(8, HIDDEN, **fields) for name, (fields, _) in cases.items()}

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
    sinkhorn = {k: MoeConfig.flat(4, HIDDEN, k, router_type="sinkhorn", **quiet) for k in (1, 2)}
    hashed = MoeConfig.flat(4, HIDDEN, router_type="hash", **quiet)
    choosing = MoeConfig.flat(4, HIDDEN, router_type="expert_choice", moe_expert_capacity_factor=1.0,
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
    cosine = MoeConfig.flat(4, HIDDEN, router_type="cosine")
    biased = MoeConfig.flat(4, HIDDEN, add_router_bias=True)

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
    config = MoeConfig.flat(4, HIDDEN, moe_router_load_balancing_type=names, **COUNTED, **PRE)
    ones, biased = np.ones_like(mask), config.replace(moe_router_enable_expert_bias=True)

    def run(logits, mask):
        routing = routed(logits, config, mask=mask)
        counts = limit(routing, config).counts()
        bias = update_expert_bias(np.zeros(4, np.float32), shoal.sum(counts, 0), biased)
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
    config = MoeConfig.flat(4, HIDDEN, moe_router_load_balancing_type=names, **COUNTED, **PRE)

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
    config = MoeConfig.flat(4, HIDDEN, router_type="expert_choice", moe_expert_capacity_factor=1.0,
                       moe_router_load_balancing_type=())  # fmt: skip
    routing, metrics = evaluate(
        tmp_path, lambda x, m: (limit(routed(x, config, mask=m), config), metrics_of(routed(x, config, mask=m))),
        logits, mask,
    )  # fmt: skip
    assert metrics.counts.tolist() == metrics.kept.tolist() == [3, 3, 3, 3]
    assert (routing.weights[..., 3:] == 0).all() and (routing.weights[..., :3] > 0).all()


def test_other_numbers_of_choices(tmp_path):
    """A layer may be evaluated with more or fewer experts a token than it is trained with."""
    logits, config = tied(np.random.default_rng(8), 2, 5, 4), MoeConfig.flat(4, HIDDEN, **PRE)
    made = evaluate(tmp_path, lambda x: [routed(x, config, k=k) for k in (1, 3, 9)], logits)
    for routing, k in zip(made, (1, 3, 4)):
        expected = in_groups(lambda x, k=k: oracle.route(x, k, normalize=False), logits)
        assert_routing(f"k = {k}", routing, expected)


def test_importance_and_load(tmp_path):
    logits = tied(np.random.default_rng(6), 1, 9, 4)
    config = MoeConfig.flat(4, HIDDEN, moe_router_load_balancing_type=("importance",), gate_noise=1.0, **COUNTED)
    losses = evaluate(tmp_path, lambda x: balance_losses(routed(x, config), config), logits)
    scores = oracle.softmax(logits[0])
    thresholds = oracle.top_k(scores, 2)[0][:, -1]
    expected = oracle.importance_loss(scores, thresholds, 1.0)
    assert_same("importance", losses["importance"], expected, np.float32, 1e-5)


# Six tokens and four experts by hand: their experts with weights, behind some limits those that are kept.
TO_TWO = {**PRE, "norm_topk_prob": True}
HALF = {"moe_router_num_groups": 2, "moe_router_group_topk": 1}
FIRST = {**TO_TWO, "moe_token_drop_policy": "position", "moe_expert_capacity_factor": 1.0}
EXAMPLE = {
    "softmax, normalised": (TO_TWO, ".731 .269, .622 .378, .818 .182, .731 .269, .731 .269, .924 .076", "01 01 02 12 30 01"),
    "post-softmax": ({}, ".731 .269, .622 .378, .818 .182, .731 .269, .731 .269, .924 .076", "01 01 02 12 30 01"),
    "pre-softmax": (PRE, ".644 .237, .455 .276, .694 .155, .610 .225, .534 .197, .824 .068", "01 01 02 12 30 01"),
    "sqrtsoftplus": ({"moe_router_score_function": "sqrtsoftplus"},
                     ".560 .440, .532 .468, .584 .416, .560 .440, .560 .440, .639 .361", "01 01 02 12 30 01"),
    "sigmoid, biased": (
        {"moe_router_score_function": "sigmoid", "moe_router_enable_expert_bias": True, "moe_router_topk_scaling_factor": 2.5},
        "1.485 1.015, 1.350 1.150, 1.350 1.150, 1.366 1.134, 1.366 1.134, 1.386 1.114", "12 12 23 12 31 23",
    ),
    "sigmoid, of the better half": ({"moe_router_score_function": "sigmoid", **HALF, "group_best_of": 2},
                                    ".546 .454, .528 .472, .649 .351, .638 .362, .500 .500, .605 .395", "01 01 01 10 01 01"),
    "softmax, of the half with the best": ({**PRE, **HALF, "group_best_of": 1},
                                           ".644 .237, .455 .276, .694 .057, .610 .083, .534 .072, .824 .068", "01 01 01 10 32 01"),
    "sinkhorn of one": ({"router_type": "sinkhorn", "moe_router_topk": 1}, ".881, .622, .731, .881, .881, .953", "0 2 2 1 3 0"),
    "sinkhorn of two": ({"router_type": "sinkhorn"},
                        ".644 .237, .167 .276, .155 .694, .610 .225, .534 .197, .824 .068", "01 21 20 12 31 02"),
    "hash": ({"router_type": "hash"}, ".5 .5, .5 .5, .5 .5, .5 .5, .5 .5, .5 .5", "02 13 20 31 02 13"),
    "places": (FIRST, ".731 .269, .622 .378, .818 .182, .731 .269, .731 0, 0 0", "01 01 02 12 3. .."),
    "places of two": ({**FIRST, "moe_expert_capacity_factor": 0.5},
                      ".731 .269, .622 0, 0 .182, .731 .269, .731 0, 0 0", "01 0. .2 12 3. .."),
    "places by tokens": ({**FIRST, "moe_expert_capacity_factor": 0.5, "position_order": "token"},
                         ".731 .269, .622 .378, 0 .182, 0 .269, .731 0, 0 0", "01 01 .2 .2 3. .."),
    "places by priority": ({**FIRST, "batch_prioritized_routing": True},
                           ".731 .269, 0 0, .818 .182, .731 .269, .731 0, .924 .076", "01 .. 02 12 3. 01"),
    "weights": ({**TO_TWO, "moe_expert_capacity_factor": 1.0},
                ".731 .269, 0 .378, .818 .182, .731 .269, .731 0, .924 0", "01 .1 02 12 3. 0."),
    "places, renormalised": ({**FIRST, "renormalize_after_drop": True},
                             ".731 .269, .622 .378, .818 .182, .731 .269, 1 0, 0 0", "01 01 02 12 3. .."),
}  # fmt: skip


@pytest.mark.parametrize("devices", DEVICES)
def test_the_worked_example(tmp_path, devices):
    """Values to the digits that are written, and to 1e-6 those of the oracle in the other tests."""
    bias = np.float32([-0.3, 0, 0.1, 0.2])
    quiet = {"moe_router_load_balancing_type": ()}
    configs = {name: MoeConfig.flat(4, HIDDEN, **quiet, **fields) for name, (fields, *_) in EXAMPLE.items()}

    def run(put, logits, ids):
        made = {}
        for name, config in configs.items():
            own = bias if config.moe_router_enable_expert_bias else None
            routing = routed(put(logits), config, bias=own, token_ids=put(ids), training=True)
            made[name] = limit(routing, config)
        return made

    made = over(devices, run, tmp_path, oracle.LOGITS[None], np.arange(6, dtype=np.int32)[None])
    for name, (_, weights, experts) in EXAMPLE.items():
        wanted = np.array([list(map(float, token.split())) for token in weights.split(",")])
        np.testing.assert_allclose(made[name].weights[0], wanted, atol=6e-4, err_msg=name)
        for token, listed in enumerate(experts.split()):
            kept = zip(made[name].experts[0, token], made[name].kept[0, token])
            assert "".join(str(e) if stays else "." for e, stays in kept) == listed, (name, token)


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


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("seed", PROGRAMS)
def test_drops_of_random_shapes(tmp_path, seed, devices):
    """Padding is as if it were not there, but that the capacity is that of all tokens."""
    rng, configs, given, seen = np.random.default_rng([7 + seed, devices]), {}, {}, set()
    for i in range(48):
        groups, tokens, experts, k = draw_case(rng)
        fields = LIMITS[list(LIMITS)[i % len(LIMITS)]]
        factor = float(rng.choice([0.25, 0.5, 1.0, 1.25, 3.0]))
        configs[f"case{i}"] = MoeConfig.flat(experts, HIDDEN, k, **PRE, norm_topk_prob=True,
                                        moe_expert_capacity_factor=factor, **fields)  # fmt: skip
        given[f"case{i}"] = draw_tokens(rng, groups, tokens, experts)
        seen |= traits(*given[f"case{i}"], configs[f"case{i}"])
    assert {"k = E", "an expert without tokens", "ties", "padding", "C >= S"} <= seen

    def run(put, given, key):
        made = {}
        for name, (x, mask) in given.items():
            routing = limit(routed(put(x), configs[name], mask=put(mask)), configs[name], key)
            made[name] = routing, metrics_of(routing), even(PRIORITIES, routing.experts.shape, key, routing.weights)
        return made

    actual = over(devices, run, tmp_path, given, np.array([3, 4], np.int32))
    for i, (name, config) in enumerate(configs.items()):
        logits, mask = given[name]
        rule = list(LIMITS)[i % len(LIMITS)]
        assert_drops(f"{name}: {rule}, {config}", rule, config, actual[name], logits, mask)


def assert_drops(what, rule, config, made, logits, mask):
    routing, metrics, drawn = made
    room = config.rows(logits.shape[1])
    for g, valid in enumerate(mask):
        kept, place, weights = (part[g][valid] for part in (routing.kept, routing.place, routing.weights))
        base = oracle.route(logits[g][valid], config.moe_router_topk)
        expected = oracle_drop(rule, base, room, drawn[g][valid])
        if rule == "probs" and (kept != expected.kept).any():
            assert_equally_good(what, base, kept, expected.kept)
            continue
        assert kept.tolist() == expected.kept.tolist(), what
        assert place[kept].tolist() == expected.place[kept].tolist(), what
        assert_same(what, weights, expected.weights, np.float32)
    assert not routing.kept[~mask].any() and not routing.weights[~mask].any(), what
    assert metrics.kept.sum() == routing.kept.sum()
    assert metrics.counts.sum() == mask.sum() * config.moe_router_topk


def test_masked_tokens_take_no_room_and_count_nowhere(tmp_path):
    """As if they were not there."""
    rng = np.random.default_rng(8)
    logits, mask = tied(rng, 1, 12, 4), rng.random((1, 12)) < 0.6
    rules = [rule for rule in LIMITS if rule != "random"]
    configs = {
        rule: MoeConfig.flat(4, HIDDEN, **PRE, norm_topk_prob=True, moe_expert_capacity_factor=0.5, **LIMITS[rule])
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
    sample = MoeConfig.flat(4, HIDDEN, 1, noisy_gate_policy="RSample")
    gumbel = MoeConfig.deepspeed(4, HIDDEN, 2)
    noisy = MoeConfig.flat(4, HIDDEN, gate_noise=1.0)
    jittered = MoeConfig.flat(4, HIDDEN, moe_input_jitter_eps=0.25)

    def run(x, key):
        made = {
            "second": limit(routed(x, second), second, key),
            "second u": even(LATER, (2, 64, 1), key, x),
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
