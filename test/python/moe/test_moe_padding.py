# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What does not count is 0, and no NaN: padding, scores that underflow, attention to nothing, labels that are none."""

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from shoal.frontend.pytrees import flatten, map_leaves
from shoal.layers import attention, cross_entropy, cross_entropy_sum
from shoal.moe import (
    Layout, MoeConfig, apply_experts, balance_losses, combine, dispatch, init_params, limit, moe, route, total_loss,
)

B, S, M, E, H = 2, 8, 6, 4, 10
LOSSES = {"moe_aux_loss_coeff": 0.3, "moe_z_loss_coeff": 0.1}
BALANCED = {**LOSSES, "moe_router_load_balancing_type": ("aux_loss", "seq_aux_loss", "global_aux_loss", "gshard")}
QUIET = {"moe_router_load_balancing_type": (), "moe_z_loss_coeff": 0.1}
PRE = {"moe_router_pre_softmax": True}
DROPS = {"moe_expert_capacity_factor": 0.75}

ROUTERS = {
    "softmax, einsum": {**PRE, **BALANCED, **DROPS, "moe_token_dispatcher_type": "einsum"},
    "late softmax, slots, biases": {**BALANCED, **DROPS, "add_bias_linear": True, "moe_token_dispatcher_type": "sort"},
    "sigmoid, sorted, shared": {
        **BALANCED, "moe_router_score_function": "sigmoid", "moe_shared_expert_intermediate_size": 5,
        "moe_shared_expert_gate": True, "moe_token_dispatcher_type": "sort",
    },
    "sqrtsoftplus, residual, before": {
        **LOSSES, "moe_router_score_function": "sqrtsoftplus", "use_residual": True, "is_postscore": False,
        "moe_token_dispatcher_type": "sort",
    },
    "importance, by position": {
        **LOSSES, **PRE, **DROPS, "moe_router_load_balancing_type": ("importance",), "gate_noise": 1.0,
        "moe_token_drop_policy": "position", "batch_prioritized_routing": True,
    },
    "sinkhorn": {**QUIET, "router_type": "sinkhorn"},
    "experts choose": {**QUIET, "router_type": "expert_choice", "moe_expert_capacity_factor": 2.0},
    "cosine": {**LOSSES, "router_type": "cosine", **PRE},
    "all to all": {**PRE, **LOSSES, "moe_token_dispatcher_type": "alltoall"},
    "gathered": {**PRE, **LOSSES, "moe_token_dispatcher_type": "allgather", "add_bias_linear": True},
}  # fmt: skip
OVER = {"all to all", "gathered"}


def config_of(name):
    return MoeConfig.flat(E, H, gated_linear_unit=True, hidden_act="silu", **ROUTERS[name])


def arrays():
    """Tokens of which some are padding, with a sequence that is padding alone behind them."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((B + 1, S, M)).astype(np.float32)
    mask = rng.random((B + 1, S)) < 0.7
    mask[-1] = False
    return np.where(mask[..., None], x, np.float32(0)), mask


def step(config, layout):
    def loss(params, x, mask):
        out = moe(x, params, config, layout, mask=mask, training=True, key=shoal.random.key(7))
        real = shoal.where(mask[..., None], out.y, 0.0)
        return shoal.sum(real**2) + total_loss(out.losses, config), (out.losses, out.metrics, real)

    return lambda params, x, mask: shoal.value_and_grad(loss, (0, 1), has_aux=True)(params, x, mask)


NARROW = ("softmax, einsum", "sigmoid, sorted, shared")
CASES = [*((name, "float32") for name in ROUTERS), *((name, "bfloat16") for name in NARROW)]


@pytest.mark.parametrize("name, dtype", CASES)
def test_what_stands_at_padding_changes_nothing(tmp_path, name, dtype):
    """Not a bit of the layer's loss, metrics, and gradients; that of padding is 0."""
    config, layout = config_of(name), Layout.folded({"dp": 4}, {"ep": 4}) if name in OVER else Layout()
    (x, mask), kind = arrays(), np.dtype(dtype) if dtype == "float32" else shoal.bfloat16
    params = map_leaves(lambda leaf: np.asarray(leaf).astype(kind), init_params(config, M, 1))
    rows = {what: np.where(mask[..., None], x, np.float32(what)).astype(kind) for what in (0, np.nan, np.inf, 3e38)}

    def run(params, rows, mask):
        return {what: step(config, layout)(params, row, mask) for what, row in rows.items()}

    made = evaluate(tmp_path, run, params, {str(what): row for what, row in rows.items()}, mask,
                    mesh=layout.mesh, devices=layout.mesh.size if layout.mesh else 0)  # fmt: skip
    wanted, others = flatten(made["0"])[0], [flatten(made[str(what)])[0] for what in (np.nan, np.inf, np.float64(3e38))]
    assert all(np.isfinite(np.float32(leaf)).all() for leaf in wanted)
    for other in others:
        for a, b in zip(other, wanted, strict=True):
            np.testing.assert_array_equal(np.float32(a), np.float32(b))
    assert not np.float32(made["nan"][1][1])[~mask].any()
    assert np.float32(made["0"][1][1])[mask].any()


@pytest.mark.parametrize("name", ["softmax, einsum", "late softmax, slots, biases", "experts choose"])
def test_parts_of_a_layer_by_themselves(tmp_path, name):
    """Each of the five takes what is in the padding as it comes."""
    config = config_of(name)
    (x, mask), params = arrays(), init_params(config, M, 1)

    def loss(params, x, mask):
        routing = limit(route(x, params, config, mask=mask), config)
        y = combine(apply_experts(dispatch(x, routing, config), params, config), routing, config)
        losses = balance_losses(routing, config)
        return shoal.sum(shoal.where(mask[..., None], y, 0.0) ** 2) + total_loss(losses, config)

    def run(params, x, bad, mask):
        return [shoal.value_and_grad(loss, (0, 1))(params, each, mask) for each in (x, bad)]

    good, bad = evaluate(tmp_path, run, params, x, np.where(mask[..., None], x, np.float32(np.nan)), mask)
    for a, b in zip(flatten(bad)[0], flatten(good)[0], strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_router_of_your_own_may_leave_padding_as_it_is(tmp_path):
    config = MoeConfig.flat(E, H, gate_noise=1.0, **{**BALANCED, **PRE,
                       "moe_router_load_balancing_type": ("aux_loss", "gshard", "importance")})  # fmt: skip
    logits, mask = np.random.default_rng(3).standard_normal((2, 5, E)).astype(np.float32), np.ones((2, 5), bool)
    mask[:, 3:] = False
    eye = {"router": np.eye(E, dtype=np.float32)}

    def run(logits, mask, nothing):
        def total(added):
            routing = route(logits, eye, config, mask=mask)
            routing = routing._replace(scores=routing.scores + added, logits=routing.logits + added)
            losses = balance_losses(routing, config)
            return shoal.sum(shoal.stack(list(losses.values()))), losses

        return [shoal.value_and_grad(total, has_aux=True)(each) for each in nothing]

    zeros = np.zeros_like(logits)
    good, bad = evaluate(tmp_path, run, logits, mask, [zeros, np.where(mask[..., None], zeros, np.float32(np.nan))])
    for a, b in zip(flatten(bad)[0], flatten(good)[0], strict=True):
        np.testing.assert_array_equal(a, b)
    assert not good[1][~mask].any() and good[1][mask].any()


@pytest.mark.parametrize("function", ["sigmoid", "sqrtsoftplus"])
def test_scores_that_underflow(tmp_path, function):
    """A token all of whose scores are 0 has weights and gradients of 0, and those of others are as without it."""
    config = MoeConfig.flat(E, H, moe_router_score_function=function, norm_topk_prob=True, **BALANCED)
    rng = np.random.default_rng(4)
    logits = rng.standard_normal((1, 5, E)).astype(np.float32)
    low = logits.copy()
    low[0, 2] = [-300.0, -400.0, -1000.0, -200.0]
    eye = {"router": np.eye(E, dtype=np.float32)}

    def run(*given):
        def total(x):
            routing = route(x, eye, config)
            losses = balance_losses(routing._replace(logits=shoal.clip(routing.logits, -5.0)), config)
            return shoal.sum(routing.weights[..., 0] ** 2) + total_loss(losses, config), routing.weights

        return [shoal.value_and_grad(total, has_aux=True)(x) for x in given]

    (_, usual), ((_, weights), gradient) = evaluate(tmp_path, run, logits, low)[0][0], evaluate(tmp_path, run, low)[0]
    assert np.isfinite(gradient).all() and not gradient[0, 2].any() and not weights[0, 2].any()
    np.testing.assert_array_equal(weights[0, [0, 1, 3, 4]], usual[0, [0, 1, 3, 4]])


def test_sinkhorn_of_large_and_of_no_tokens(tmp_path):
    """exp(200) is no number of float32; a factor of a row changes no choice."""
    config = MoeConfig.flat(E, H, router_type="sinkhorn", **QUIET)
    logits = np.random.default_rng(5).standard_normal((2, 6, E)).astype(np.float32)
    eye, mask = {"router": np.eye(E, dtype=np.float32)}, np.array([[True] * 6, [False] * 6])

    def run(logits, mask):
        routed = [route(x, eye, config, mask=mask, training=True) for x in (logits, logits + 200.0)]
        return [(r.experts[0], r.weights) for r in routed]

    (plain, _), (lifted, weights) = evaluate(tmp_path, run, logits, mask)
    np.testing.assert_array_equal(plain, lifted)
    assert np.isfinite(weights).all()


def test_a_loss_of_coefficient_zero_is_not_made(tmp_path):
    """So one that is NaN, as of tokens that are too large, is in no gradient."""
    rates = {"aux_loss": 0.0, "gshard": (0.0, 0.5)}
    config = MoeConfig.flat(E, H, **PRE, moe_router_load_balancing_type=("aux_loss", "gshard"), moe_aux_loss_coeff=rates,
                       moe_z_loss_coeff=0.0)  # fmt: skip
    x, params = np.random.default_rng(6).standard_normal((1, 4, M)).astype(np.float32), init_params(config, M, 0)

    def run(x, params):
        losses = moe(x, params, config).losses
        infinite = {"gshard": losses["gshard"] * float("inf"), "aux_loss": losses["gshard"] * float("nan")}
        return losses, total_loss(infinite, config), total_loss(losses, config, 1), moe(x, params, off).losses

    off = config.replace(moe_aux_loss_coeff=0.0, moe_z_loss_coeff=None)
    losses, first, second, none = evaluate(tmp_path, run, x, params)
    assert sorted(losses) == ["gshard"] and none == {}
    assert first == 0 and second == np.float32(0.5) * losses["gshard"]


def test_attention_that_sees_nothing(tmp_path):
    """A row that may look nowhere is 0; keys and values that nothing looks at may be anything."""
    rng = np.random.default_rng(7)
    q, k, v = (rng.standard_normal((2, 5, 2, 4)).astype(np.float32) for _ in range(3))
    mask = np.ones((2, 1, 5, 5), bool)
    mask[:, :, 1] = False  # a row
    mask[0, :, :, 3:] = False  # columns
    hidden = np.zeros((2, 5, 1, 1), bool)
    hidden[0, 3:] = True

    def run(mask, *given):
        def total(q, k, v):
            made = attention(q, k, v, mask=mask, causal=True)
            return shoal.sum(made**2), made

        return [shoal.value_and_grad(total, (0, 1, 2), has_aux=True)(*each) for each in given]

    bad = (q, *(np.where(hidden, np.float32(what), x) for what, x in ((np.nan, k), (np.inf, v))))
    good, other = evaluate(tmp_path, run, mask, (q, k, v), bad)
    for a, b in zip(flatten(other)[0], flatten(good)[0], strict=True):
        np.testing.assert_array_equal(a, b)
    ((_, made), (dq, dk, _)) = good
    assert not made[:, 1].any() and made[:, [0, 2, 3, 4]].any((0, 2, 3)).all()
    assert not dq[:, 1].any() and not dk[0, 3:].any() and np.isfinite(dq).all()


LOGITS = np.random.default_rng(8).standard_normal((3, 7, 10)).astype(np.float32)
LABELS = np.random.default_rng(9).integers(0, 10, (3, 7)).astype(np.int32)


def mean_of(logits, labels, weights):
    wide = np.float64(logits)
    right = np.take_along_axis(wide - np.log(np.exp(wide).sum(-1, keepdims=True)), labels[..., None], -1)[..., 0]
    return -(np.where(weights != 0, right, 0) * weights).sum() / weights.sum()


def test_labels_that_do_not_count(tmp_path):
    """ignore_index, mask and weights, of other types of labels; logits there may be NaN."""
    counts = np.random.default_rng(10).random(LABELS.shape) < 0.6
    weights = (np.random.default_rng(11).integers(0, 3, LABELS.shape) / 4).astype(np.float32)
    ignored, minus = np.where(counts, LABELS, -100), np.where(counts, LABELS, -1).astype(np.int8)
    bad = np.where(counts[..., None], LOGITS, np.float32(np.nan))
    wild = np.where(counts, LABELS, 77).astype(np.uint8)

    def run(logits, bad, ignored, minus, wild, counts, weights):
        both = shoal.value_and_grad(lambda x, y, **more: cross_entropy(x, y, **more))
        return {
            "ignored": both(bad, ignored), "ignored, int64": both(bad, ignored.astype("int64")),
            "-1": both(bad, minus, ignore_index=-1), "masked": both(bad, wild, mask=counts),
            "masked, none ignored": both(bad, ignored, mask=counts, ignore_index=None),
            "weights of 0": both(bad, wild, weights=counts.astype("float32")),
            "weighted": both(logits, wild, weights=weights * counts.astype("float32"), ignore_index=77),
            "none": both(logits, ignored * 0 - 100),
        }

    equal = evaluate(tmp_path, run, LOGITS, bad, ignored, minus, wild, counts, weights)
    weighted, none = equal.pop("weighted"), equal.pop("none")
    for name, (value, gradient) in equal.items():
        assert_same(name, value, mean_of(LOGITS, LABELS, counts * 1.0), np.float32, 1e-6)
        np.testing.assert_array_equal(gradient, equal["ignored"][1], name)
        assert np.isfinite(gradient).all() and not gradient[~counts].any()
    assert_same("weighted", weighted[0], mean_of(LOGITS, LABELS, weights * counts), np.float32, 1e-6)
    assert none[0] == 0 and not none[1].any()


def test_labels_that_are_no_class(tmp_path):
    """An error where they are known; else no mean, and no gradient, is of them."""
    wrong = LABELS.copy()
    wrong[1, 2], wrong[2, 6] = 10, -7

    def run(logits, labels, mask):
        both = shoal.value_and_grad(lambda x, **more: cross_entropy(x, labels, **more))
        return both(logits), both(logits, mask=mask), cross_entropy_sum(logits, labels)

    mask = (wrong >= 0) & (wrong < 10)
    (value, gradient), masked, (_, weight) = evaluate(tmp_path, run, LOGITS, wrong, mask)
    assert np.isnan(value) and np.isnan(gradient[mask]).all() and np.isnan(weight)
    assert_same("masked", masked[0], mean_of(LOGITS, LABELS, mask * 1.0), np.float32, 1e-6)

    def refuses(message, labels, error=shoal.TraceError, **given):
        with pytest.raises(error, match=message):
            shoal.trace(lambda x: cross_entropy(x, labels, **given), (LOGITS,))

    refuses(r"2 of 21 labels are neither in 0 ... 9 nor ignore_index=-100, first 10 at \[1, 2\]", wrong)
    refuses(r"1 of 21 labels .* first -7 at \[2, 6\]", wrong, ignore_index=10)
    refuses(r"neither in 0 ... 9 nor ignore_index=None", np.where(mask, wrong, -100), ignore_index=None)
    refuses(r"labels \[7, 3\] of logits \[3, 7, 10\]", LABELS.T)
    refuses(r"weights \[3\] of logits \[3, 7, 10\]", LABELS, weights=np.ones(3))
    refuses("expected labels of integers, got float32", LABELS.astype(np.float32), shoal.TraceTypeError)
    shoal.trace(lambda x: cross_entropy(x, wrong, mask=mask), (LOGITS,))


def test_classes_that_cannot_be(tmp_path):
    """Logits of -inf, and means of more labels than bfloat16 can count."""
    logits = LOGITS.copy()
    logits[..., 3] = -np.inf
    labels = np.where(LABELS == 3, 4, LABELS)
    many = np.zeros((1000, 10), np.float32)

    def run(logits, labels, many):
        narrow = cross_entropy(many.astype("bfloat16"), shoal.zeros((1000,), "int32"))
        return shoal.value_and_grad(lambda x: cross_entropy(x, labels))(logits), narrow

    (value, gradient), narrow = evaluate(tmp_path, run, logits, labels, many)
    assert_same("nll", value, mean_of(logits, labels, np.ones(labels.shape)), np.float32, 1e-6)
    assert np.isfinite(gradient).all() and not gradient[..., 3].any()
    assert_same("narrow", narrow, np.log(10), np.float32, 1e-6)
