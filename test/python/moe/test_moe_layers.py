# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole layers of shoal.moe: every dispatcher against the oracle, gradients against JAX."""

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import moe_oracle as oracle
from frontend_testing import assert_same, evaluate, shoal
from shoal.frontend.pytrees import flatten
from shoal.moe import Layout, MoeConfig, init_params, moe, total_loss, update_expert_bias, upcycle

G, S, M, E, H = 4, 8, 6, 4, 10
SWIGLU = {"gated_linear_unit": True, "hidden_act": "silu", "moe_group_size": S}
DROPS = {"moe_expert_capacity_factor": 0.75}
PRE = {"moe_router_pre_softmax": True}
X = np.random.default_rng(0).standard_normal((2, 2 * S, M)).astype(np.float32)

CASES = {
    "dropless": {},
    "drops": DROPS,
    "biases": {"add_bias_linear": True},
    "biases, drops": {"add_bias_linear": True, **DROPS},
    "before": {"is_postscore": False},
    "before, drops": {"is_postscore": False, **DROPS},
    "clamped": {"swiglu_limit": 0.5, "add_bias_linear": True},
    "relu": {"gated_linear_unit": False, "hidden_act": "relu"},
    "top 1": {"moe_router_topk": 1, "moe_router_pre_softmax": True, **DROPS},
    "all": {"moe_router_topk": 4},
    "sigmoid": {"moe_router_score_function": "sigmoid", "moe_router_topk_scaling_factor": 2.5, **DROPS},
    "shared": {"moe_shared_expert_intermediate_size": 5, "moe_shared_expert_gate": True},
    "residual": {"use_residual": True, **DROPS},
    "priority": {"moe_token_drop_policy": "position", "batch_prioritized_routing": True, **DROPS},
}  # fmt: skip


def config_of(case, dispatcher):
    return MoeConfig.flat(E, H, **{**SWIGLU, **CASES[case]}, moe_token_dispatcher_type=dispatcher)


def dispatchers(case):
    return ("einsum", "sort", "alltoall", "allgather", "auto")


def parameters(config):
    params = init_params(config, M, seed=1)
    rng = np.random.default_rng(2)
    for name in ("bi", "bg", "bo"):
        if name in params:
            params[name] = rng.standard_normal(params[name].shape).astype(np.float32)
    return params


def feed_forward(xp, x, params, config, e=...):
    """An expert of the parameters' first dimension, or a dense network of all."""
    hidden = x @ params["wi"][e] + (params["bi"][e] if config.add_bias_linear else 0)
    if not config.gated_linear_unit:
        return xp.maximum(hidden, 0) @ params["wo"][e] + (params["bo"][e] if config.add_bias_linear else 0)
    gate = x @ params["wg"][e] + (params["bg"][e] if config.add_bias_linear else 0)
    if config.swiglu_limit is None:
        hidden = gate / (1 + xp.exp(-gate)) * hidden
    else:
        gate = xp.minimum(gate, config.swiglu_limit)
        up = xp.clip(hidden, -config.swiglu_limit, config.swiglu_limit)
        hidden = (up + 1) * gate / (1 + xp.exp(-config.swiglu_alpha * gate))
    return hidden @ params["wo"][e] + (params["bo"][e] if config.add_bias_linear else 0)


def oracle_routing(logits, config):
    """Of one group, with drops."""
    score, k = config.moe_router_score_function, config.moe_router_topk
    options = {"pre_softmax": config.moe_router_pre_softmax, "normalize": config.router.normalizes}
    routing = oracle.route(logits, k, score, **options, scale=config.moe_router_topk_scaling_factor)
    room = config.rows(len(logits))
    if room is None:
        return routing
    if config.moe_token_drop_policy == "probs":
        return oracle.drop(routing, room, "importance")
    return oracle.drop(routing, room, priority=routing.scores.max(-1))


def oracle_layer(x, params, config):
    """y by loops over tokens and choices."""
    groups = []
    for group in x.reshape(-1, S, M):
        routing = oracle_routing(group @ params["router"], config)
        made = np.zeros_like(group)
        for t, j in np.ndindex(routing.experts.shape):
            weight, e = routing.weights[t, j], routing.experts[t, j]
            kept = routing.kept is None or routing.kept[t, j]
            if not config.is_postscore:
                made[t] += kept * feed_forward(np, weight * group[t], params, config, e)
            else:
                made[t] += weight * feed_forward(np, group[t], params, config, e)
        groups.append(made)
    y = np.reshape(groups, x.shape)
    if config.moe_shared_expert_gate:
        shared = feed_forward(np, x, params["shared"], config)
        y = y + shared * oracle.sigmoid(x @ params["shared_gate"])
    if config.use_residual:
        parts = oracle.softmax(x @ params["residual_gate"])
        y = parts[..., :1] * y + parts[..., 1:] * feed_forward(np, x, params["residual"], config)
    return y


def test_all_dispatchers_are_the_oracle(tmp_path):
    configs, params = {}, {}
    for case in CASES:
        params[case] = parameters(config_of(case, "auto"))
        for dispatcher in dispatchers(case):
            configs[case, dispatcher] = config_of(case, dispatcher)

    def run(x, params):
        return {
            f"{case} by {dispatcher}": moe(x, params[case], config).y
            for (case, dispatcher), config in configs.items()
        }

    made = evaluate(tmp_path, run, X, params)
    for case, dispatcher in configs:
        name = f"{case} by {dispatcher}"
        expected = oracle_layer(X, params[case], configs[case, dispatcher])
        assert_same(name, made[name], expected, np.float32, 1e-5)
        first = made[f"{case} by einsum"]  # the same sums, of products in another order
        assert_same(name, made[name], first, np.float32, 1e-6)


def jax_loss(x, params, config, routings):
    """The sum of squares of y, of choices that are given: they have no gradient."""
    groups = jnp.reshape(x, (-1, S, M))
    logits = groups @ params["router"]
    late = not config.moe_router_pre_softmax and config.moe_router_score_function == "softmax"
    scores = jax.nn.softmax(logits) if not late else logits
    scores = jax.nn.sigmoid(logits) if config.moe_router_score_function == "sigmoid" else scores
    experts = np.stack([routing.experts for routing in routings])
    weights = jnp.take_along_axis(scores, experts, -1)
    if late:
        weights = jax.nn.softmax(weights)
    elif config.router.normalizes:
        weights = weights / weights.sum(-1, keepdims=True)
    weights = weights * (config.moe_router_topk_scaling_factor or 1)
    if routings[0].kept is not None:
        weights = weights * np.stack([routing.kept for routing in routings])
    combine = (weights[..., None] * jax.nn.one_hot(experts, E)).sum(2)
    made = [feed_forward(jnp, groups, params, config, e) for e in range(E)]
    y = jnp.einsum("gse,egsm->gsm", combine, jnp.stack(made))
    return (y**2).sum()


def jax_gradients(params, configs):
    """By x and parameters, of every case, compiled at once."""
    groups = X.reshape(-1, S, M)
    routings = {
        case: [oracle_routing(group @ params[case]["router"], config) for group in groups]
        for case, config in configs.items()
    }

    def total(x, params):
        return sum(jax_loss(x[c], params[c], configs[c], routings[c]) for c in configs)

    return jax.jit(jax.grad(total, (0, 1)))(dict.fromkeys(configs, X), params)


GRADIENTS = ("dropless", "biases, drops", "clamped", "sigmoid", "top 1", "all")


def test_gradients_are_jax(tmp_path):
    configs, params = {}, {}
    for case in GRADIENTS:
        params[case] = parameters(config_of(case, "auto"))
        for dispatcher in dispatchers(case)[:3]:
            configs[case, dispatcher] = config_of(case, dispatcher)

    def gradient(x, params, config):
        return shoal.grad(lambda x, params: shoal.sum(moe(x, params, config).y ** 2), (0, 1))(x, params)

    def run(x, params):
        return {f"{c} by {d}": gradient(x, params[c], config) for (c, d), config in configs.items()}

    made = evaluate(tmp_path, run, X, params)
    of_x, of_params = jax_gradients(params, {case: configs[case, "sort"] for case in GRADIENTS})
    for case, dispatcher in configs:
        expected, name = (of_x[case], of_params[case]), f"{case} by {dispatcher}"
        assert_same(name, made[name][0], expected[0], np.float32, 1e-5)
        for leaf in expected[1]:
            assert_same(f"{name}: {leaf}", made[name][1][leaf], expected[1][leaf], np.float32, 2e-5)


def test_experts_choose(tmp_path):
    config = MoeConfig.flat(E, H, **SWIGLU, **DROPS, router_type="expert_choice", moe_router_load_balancing_type=())
    params = parameters(config)
    y = evaluate(tmp_path, lambda x, p: moe(x, p, config).y, X, params)
    expected = []
    for group in X.reshape(-1, S, M):
        tokens, weights = oracle.expert_choice(group @ params["router"], config.rows(S))
        made = np.zeros_like(group)
        for e, c in np.ndindex(tokens.shape):
            made[tokens[e, c]] += weights[e, c] * feed_forward(np, group[tokens[e, c]], params, config, e)
        expected.append(made)
    assert_same("y", y, np.reshape(expected, X.shape), np.float32, 1e-5)


def test_an_expert_of_ones_own(tmp_path):
    """With parameters of its own, in every dispatcher."""

    def expert(linear, rows, params, config):
        return linear(rows, params["matrix"]) * params["scale"]

    def run(x, params):
        made = [
            moe(x, params, MoeConfig.flat(E, H, moe_token_dispatcher_type=name), expert=expert).y
            for name in ("einsum", "sort", "allgather")
        ]
        return made

    rng = np.random.default_rng(3)
    router, matrix = (rng.standard_normal(shape).astype(np.float32) for shape in ((M, E), (E, M, M)))
    made = evaluate(tmp_path, run, X, {"router": router, "matrix": matrix, "scale": np.float32(3)})
    x = X.reshape(-1, M)
    routing = oracle.route(x @ router, 2)
    expected = 3 * oracle.moe_by_tokens(x, routing, lambda e, row: row @ matrix[e])
    for y in made:
        assert_same("y", y, expected.reshape(X.shape), np.float32, 1e-5)


@pytest.mark.parametrize("direction", [1, -1])
def test_all_tokens_of_one_expert_and_none_of_others(tmp_path, direction):
    """The first choices are one expert's; others get none, and so does a device."""
    layout = Layout.folded({"dp": 4}, {"ep": 4})
    router = np.zeros((M, E), np.float32)
    router[0] = direction * np.arange(E)
    x = np.abs(X)
    for fields in ({}, {"moe_expert_capacity_factor": 0.5}):
        config = MoeConfig.flat(E, H, 1, **SWIGLU, moe_router_pre_softmax=True, **fields)
        params = {**parameters(config), "router": router}
        made = evaluate(tmp_path, lambda x, p: moe(x, p, config, layout), x, params, mesh=layout.mesh, devices=4)
        assert_same("y", made.y, oracle_layer(x, params, config), np.float32, 1e-5)
        assert sorted(made.metrics.counts) == [0, 0, 0, G * S]


@pytest.mark.parametrize("case, dispatcher", [("drops", "auto"), ("biases", "alltoall"), ("biases", "allgather")])
def test_on_four_ranks(case, dispatcher):
    """Compiled, with the gradient of all losses, under mpirun."""
    layout = Layout.folded({"tp": 2, "dp": 2}, {"etp": 1, "ep": 4})
    config = config_of(case, dispatcher).replace(moe_aux_loss_coeff=0.01, moe_z_loss_coeff=0.001)
    params = parameters(config)

    def loss(layout, x, params):
        out = moe(x, params, config, layout)
        return shoal.sum(out.y**2) + total_loss(out.losses, config), out.y

    def step(layout, x, params):
        return shoal.value_and_grad(lambda *args: loss(layout, *args), (0, 1), has_aux=True)(x, params)

    one = shoal.jit(lambda x, p: step(Layout(), x, p))(X, params)
    many = shoal.jit(lambda x, p: step(layout, x, p), mesh=layout.mesh)(X, params)
    for expected, actual in zip(flatten(one)[0], flatten(many)[0]):
        assert_same("step", actual.numpy(), expected.numpy(), np.float32, 1e-5)
    assert_same("y", many[0][1].numpy(), oracle_layer(X, params, config), np.float32, 1e-5)


# Which factors and dispatchers, and what goes where: of tokens 4 x 8 on 4 ranks, which expert each first likes.
FACTORS = {
    "None": {}, "0": {"moe_expert_capacity_factor": 0.0},
    "below 0": {"moe_expert_capacity_factor": -1.0, "capacity_rule": "tutel", "moe_token_drop_policy": "position"},
    "above 0": {"moe_expert_capacity_factor": 0.5},
    "None, exchanged": {"moe_token_dispatcher_type": "alltoall"},
    "None, gathered": {"moe_token_dispatcher_type": "allgather"},
}  # fmt: skip
LOADS = {
    "even": (np.arange(G * S) % E, np.ones(G * S, bool)),
    "all to one expert": (np.full(G * S, 2), np.ones(G * S, bool)),
    "none to a device": (np.arange(G * S) % (E - 1), np.ones(G * S, bool)),
    "a device has padding alone": (np.arange(G * S) % E, np.arange(G * S) // S != 1),
    "padding alone": (np.arange(G * S) % E, np.zeros(G * S, bool)),
}


@pytest.mark.parametrize("factor", FACTORS)
def test_loads_on_four_ranks(factor):
    """One program for all loads: y, gradients and counts are one device's, and no step takes five seconds."""
    layout = Layout.folded({"dp": 4}, {"ep": 4})
    config = MoeConfig.flat(E, H, 1, **{**SWIGLU, **PRE, **FACTORS[factor]})
    params = {**parameters(config), "router": np.eye(M, E, dtype=np.float32) * 4}

    def step(layout):
        def loss(x, params, mask):
            out = moe(x, params, config, layout, mask=mask)
            return shoal.sum(out.y**2), (out.y, out.metrics)

        return shoal.jit(shoal.value_and_grad(loss, (0, 1), has_aux=True), mesh=layout.mesh)

    one, many = step(Layout()), step(layout)
    for name, (liked, mask) in LOADS.items():
        x = np.float32(X.reshape(G, S, M) / 8)
        x[..., :E] += np.eye(E, dtype=np.float32)[liked].reshape(G, S, E)
        given = x, params, mask.reshape(G, S)
        expected = [leaf.numpy() for leaf in flatten(one(*given))[0]]
        many(*given) if name == "even" else None  # compiled, and started
        begin = time.monotonic()
        made = [leaf.numpy() for leaf in flatten(many(*given))[0]]
        assert time.monotonic() - begin < 5, name
        for number, pair in enumerate(zip(made, expected)):
            assert_same(f"{name}: {number}", *pair, np.float32, 1e-5)
        counts = expected[2]
        assert counts.tolist() == np.bincount(liked[mask], minlength=E).tolist()
    assert (one.cache_size(), many.cache_size()) == (1, 1)


def test_an_upcycled_layer_is_the_dense_one(tmp_path):
    """Of granularity 1, 2 and 4, with biases, and in every dispatcher."""
    rng, hidden = np.random.default_rng(4), 16
    shapes = {"wi": (M, hidden), "wg": (M, hidden), "wo": (hidden, M), "bi": (hidden,), "bg": (hidden,), "bo": (M,)}
    dense = {name: rng.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    configs = {
        (g, d): MoeConfig.flat(8, hidden // g, 4, **{**SWIGLU, "add_bias_linear": True}, moe_token_dispatcher_type=d)
        for g in (1, 2, 4) for d in ("einsum", "sort", "allgather")
    }  # fmt: skip
    params = {g: upcycle(dense, configs[g, "sort"], seed=g, deviation=1.0) for g in (1, 2, 4)}
    expected = feed_forward(np, X, dense, configs[1, "sort"])

    def run(x, params):
        return {f"{g} {d}": moe(x, params[g], config).y for (g, d), config in configs.items()}

    for name, y in evaluate(tmp_path, run, X, params).items():
        assert_same(name, y, expected, np.float32, 1e-5)
    uniform = MoeConfig.flat(8, hidden // 2, 4, **{**SWIGLU, "add_bias_linear": True}, moe_router_pre_softmax=True)
    made = upcycle(dense, uniform, deviation=0.0)
    y = evaluate(tmp_path, lambda x, p: moe(x, p, uniform).y, X, made)
    assert_same("uniform", y, expected, np.float32, 1e-5)
    with pytest.raises(shoal.TraceError, match="16 hidden units over experts of 5"):
        upcycle(dense, uniform.replace(moe_ffn_hidden_size=5))
    with pytest.raises(shoal.TraceError, match=r"upcycle: parameters \['bg', .*\]: the experts .* have \['wi', 'wo'\]"):
        upcycle(dense, MoeConfig.flat(8, 8, 4))
    with pytest.raises(shoal.TraceError, match=r'upcycle: "wo" \[15, 6\]: expected \[16, 6\], as "wi" is \[6, 16\]'):
        upcycle({**dense, "wo": dense["wo"][1:]}, uniform)
    biased = upcycle(dense, uniform.replace(add_router_bias=True))
    np.testing.assert_array_equal(biased["router_bias"], np.zeros(8))


@pytest.mark.parametrize("dispatcher", ["einsum", "sort", "allgather"])
def test_types(tmp_path, dispatcher):
    """bfloat16 tokens and experts with a router of float32 sums, of float64, and as models have it."""
    x, made = X.astype(shoal.bfloat16), {}
    configs = {
        (kind, drops): MoeConfig.flat(E, H, **SWIGLU, moe_router_dtype=kind, moe_z_loss_coeff=0.1,
                                 moe_token_dispatcher_type=dispatcher, **(DROPS if drops else {}))
        for kind in ("fp32", "fp64", "model") for drops in (False, True)
    }  # fmt: skip
    params = parameters(configs["fp32", False])
    narrow = {name: array.astype(shoal.bfloat16) for name, array in params.items()}

    def run(x, params):
        return {f"{kind} {drops}": moe(x, params, config) for (kind, drops), config in configs.items()}

    made = evaluate(tmp_path, run, x, narrow)
    wide = {name: np.float32(array) for name, array in narrow.items()}
    for (kind, drops), config in configs.items():
        y = made[f"{kind} {drops}"].y
        assert y.dtype == shoal.bfloat16
        if kind == "fp32":  # choices are those of exact sums
            expected = oracle_layer(np.float32(x), wide, config)
            assert_same(kind, np.float32(y), expected, np.float32, 2e-2)
            assert made[f"fp32 {drops}"].losses["z_loss"].dtype == np.float32


def test_micro_batches_and_recomputation_change_nothing(tmp_path):
    """Gradients of all losses of groups of 8 tokens, and counts, with noise and masked tokens."""
    config = config_of("drops", "sort").replace(
        moe_aux_loss_coeff=0.1, moe_z_loss_coeff=0.1, moe_input_jitter_eps=0.1, moe_group_size=8,
        moe_router_load_balancing_type=("aux_loss", "gshard"),
    )  # fmt: skip
    params, x = parameters(config), X.reshape(4, 8, M)  # a group is a row of a batch

    def quiet(params, x):
        out = moe(x, params, config)
        return shoal.mean(out.y**2) + total_loss(out.losses, config), {"kept": shoal.sum(out.metrics.kept)}

    def noisy(params, x):
        key = np.array([1, 2], np.int32)
        out = moe(x, params, config, key=key)
        return shoal.mean(out.y**2) + total_loss(out.losses, config), out.metrics

    def run(params, x):
        accumulated = [shoal.optim.accumulate(quiet, n, has_aux=True)(params, x) for n in (1, 2, 4)]
        again = [shoal.value_and_grad(f, has_aux=True)(params, x) for f in (noisy, shoal.remat(noisy))]
        return accumulated, again

    accumulated, again = evaluate(tmp_path, run, params, x)
    for other in accumulated[1:]:
        for expected, actual in zip(flatten(accumulated[0][1])[0], flatten(other[1])[0]):
            assert_same("micro-batches", actual, expected, np.float32, 1e-5)
    for expected, actual in zip(*(flatten(made)[0] for made in again)):
        assert_same("recomputed", actual, expected, np.float32, 0)


def test_how_a_step_is_run_leaves_counts_and_bias_alone(tmp_path):
    """Micro-batches, a forward pass that runs again, and an evaluation beside it: the same bits."""
    config = config_of("sigmoid", "sort").replace(moe_router_enable_expert_bias=True, moe_aux_loss_coeff=0.1)
    params, x = parameters(config), X.reshape(4, 8, M)
    bias = np.random.default_rng(5).standard_normal(E).astype(np.float32) / 8

    def loss(params, x):
        out = moe(x, params, config, bias=bias, training=True)
        return shoal.mean(out.y**2) + total_loss(out.losses, config), out.metrics.counts

    def evaluated(params, x):
        return moe(x, params, config, bias=bias, training=False).metrics.counts

    def run(params, x):
        plain = shoal.value_and_grad(loss, has_aux=True)
        ways = {
            "plain": plain(params, x)[0][1],
            "again": shoal.value_and_grad(shoal.remat(loss), has_aux=True)(params, x)[0][1],
            "evaluated": evaluated(params, x),
            **{f"{n} parts": shoal.optim.accumulate(loss, n, has_aux=True)(params, x)[0][1] for n in (2, 4)},
        }
        return {name: (counts, update_expert_bias(bias, counts, config)) for name, counts in ways.items()}

    made = evaluate(tmp_path, run, params, x)
    counts, stepped = made["plain"]
    assert counts.sum() == X.size / M * config.moe_router_topk and (stepped != bias).any()
    for name, pair in made.items():
        assert [part.tobytes() for part in pair] == [counts.tobytes(), stepped.tobytes()], name
