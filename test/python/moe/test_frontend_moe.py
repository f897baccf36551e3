# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The layers of shoal.moe against NumPy, on one device and on several."""

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from shoal_reference import moe_layer
from shoal_testing import BIN, load_json, run

RNG = np.random.default_rng(5)
G, S, M, E, H, C = 4, 12, 6, 8, 10, 5


def weights(*shape):
    return (RNG.standard_normal(shape) / np.sqrt(shape[-2])).astype(np.float32)


ARGS = (
    RNG.standard_normal((G, S, M)).astype(np.float32),
    weights(M, E),
    weights(E, M, H),
    weights(E, H, M),
)


def layer(x, wg, wi, wo):
    return shoal.moe.moe_layer(x, wg, wi, wo, k=2, capacity=C)


@pytest.mark.parametrize("mesh", [None, shoal.Mesh(expert=4), shoal.Mesh(data=2, expert=2)])
def test_moe_layer(tmp_path, mesh):
    out = evaluate(tmp_path, layer, *ARGS, mesh=mesh, devices=4 if mesh else 0)
    y, gating = moe_layer(*ARGS, 2, C)
    assert_same("y", out.y, y, np.float32, 1e-5)
    assert_same("aux", out.aux, gating.aux, np.float32, 1e-5)
    assert out.routed.tolist() == gating.routed_per_expert().tolist()
    assert out.kept.tolist() == gating.kept_per_expert().tolist()


def test_the_two_changes_of_place_are_two_all_to_alls(tmp_path):
    source = tmp_path / "layer.mlir"
    source.write_text(shoal.trace(lambda *args: layer(*args)[:2], ARGS, shoal.Mesh(expert=4)))
    stats = tmp_path / "stats.json"
    run(
        BIN / "shoalc", source, "--emit=spmd", "-o", tmp_path / "out", "--stats", stats
    ).expect_success()
    collectives = {kind: n for kind, n in load_json(stats)["collectives"].items() if n}
    assert collectives == {"all_to_all": 2, "all_reduce": 1}


def test_moe_layer_over_one_axis_of_two(tmp_path):
    def over_experts(*args):
        return shoal.moe.moe_layer(*args, capacity_factor=1.0, axes="expert", activation=shoal.gelu)

    one = evaluate(tmp_path, over_experts, *ARGS)
    mesh = shoal.Mesh(model=2, expert=2)
    many = evaluate(tmp_path, over_experts, *ARGS, mesh=mesh, devices=4)
    for name, expected in one._asdict().items():
        assert_same(name, getattr(many, name), expected, np.float32, 1e-5)


@pytest.mark.parametrize("tokens, width, hidden", [(64, 32, 64), (128, 64, 128)])
def test_gradients_over_one_axis_of_two_find_experts_over_both(tmp_path, tokens, width, hidden):
    """Behind the axis that annotations name the other one takes slices; in front of it all would be exchanged."""
    shapes = ((8, tokens, width), (width, 8), (8, width, hidden), (8, hidden, width))
    args = tuple(np.zeros(shape, np.float32) for shape in shapes)

    def sent(name, *spec):
        def loss(router, wi, wo, x):
            wi, wo = (shoal.constrain(w, shoal.P(*spec)) if spec else w for w in (wi, wo))
            out = shoal.moe.moe_layer(x, router, wi, wo, capacity_factor=1.0, axes="data")
            return (out.y * out.y).sum() + out.aux

        source, stats = tmp_path / f"{name}.mlir", tmp_path / f"{name}.json"
        gradients = shoal.value_and_grad(loss, (0, 1, 2))
        source.write_text(shoal.trace(gradients, (*args[1:], args[0]), shoal.Mesh(expert=2, data=2)))
        run(BIN / "shoalc", source, "--emit=spmd", "-o", tmp_path / "out", "--stats", stats).expect_success()
        return sum(load_json(stats)["bytes_sent_per_device"].values())

    assert sent("free") <= sent("over both", ("data", "expert"))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize("causal", [False, True])
def test_self_attention(tmp_path, causal):
    x, (q, k, v), o = ARGS[0], [weights(M, 2, 3) for _ in range(3)], weights(2, 3, M)
    mask = RNG.random((G, 1, 1, S)) < 0.8
    mask[..., 0] = True

    def run(x, q, k, v, o, mask):
        return shoal.layers.self_attention(x, q, k, v, o, mask=mask, causal=causal)

    actual = evaluate(tmp_path, run, x, q, k, v, o, mask)
    q, k, v = (np.einsum("bsm,mnd->bsnd", x, weight) for weight in (q, k, v))
    scores = np.einsum("bsnd,btnd->bnst", q, k) / np.sqrt(3)
    seen = mask & (np.tri(S, dtype=bool) if causal else True)
    probabilities = softmax(np.where(seen, scores, -1e30))
    expected = np.einsum("bnst,btnd,ndm->bsm", probabilities, v, o)
    assert_same("attention", actual, expected, np.float32, 1e-5)


def test_feed_forward_and_loss(tmp_path):
    x, wi, gate, wo = ARGS[0], weights(M, H), weights(M, H), weights(H, M)
    labels = RNG.integers(0, M, (G, S), np.int32)

    def run(x, wi, gate, wo, labels):
        plain = shoal.layers.feed_forward(x, wi, wo)
        gated = shoal.layers.feed_forward(x, wi, wo, gate=gate, activation=shoal.silu)
        return plain, gated, shoal.layers.cross_entropy(plain, labels)

    plain, gated, loss = evaluate(tmp_path, run, x, wi, gate, wo, labels)
    expected = np.maximum(x @ wi, 0) @ wo
    assert_same("plain", plain, expected, np.float32, 1e-5)
    hidden = x @ gate
    assert_same("gated", gated, hidden / (1 + np.exp(-hidden)) * (x @ wi) @ wo, np.float32, 1e-5)
    log_probabilities = np.take_along_axis(np.log(softmax(expected)), labels[..., None], -1)
    assert_same("loss", loss, -log_probabilities.mean(), np.float32, 1e-5)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_what_counts_is_counted_in_float32(tmp_path, dtype):
    """965 tokens and labels, which bfloat16 would round to 968; 2,049 choices, which float16 has not."""
    tokens = 965 if dtype == "bfloat16" else 2049
    x, wg, wi, wo = np.ones((1, tokens, 1), np.float32), np.float32([[2, 1]]), *[np.ones((2, 1, 1), np.float32)] * 2

    def run(*args):
        out = shoal.moe.moe_layer(*(arg.astype(dtype) for arg in args), k=1, capacity=tokens)
        mask = shoal.iota((tokens,), 0) > 0
        logits = shoal.zeros((tokens, 2), dtype)
        return out.routed, out.kept, shoal.layers.cross_entropy(logits, np.zeros(tokens, np.int32), mask=mask)

    routed, kept, loss = evaluate(tmp_path, run, x, wg, wi, wo)
    assert routed.tolist() == kept.tolist() == [tokens, 0]
    assert_same("loss", loss, np.float32(np.log(2)), np.float32, 1e-6)


def test_sizes_that_do_not_fit():
    x, wg, wi, wo = ARGS
    for args, message in (
        ((x, wg[:, :7], wi, wo), r'parameter "router" \[6, 7\]: expected \[6, 8\] of this configuration'),
        ((x, wg, wi, wo[:, :9]), r'"EGCM,EMH->EGCH": letter M is 10 in operand 0 and 9 in operand 1'),
        ((x[0], wg, wi, wo), r"moe_layer: expected x \[G, S, M\] and wi \[E, M, H\], got \[12, 6\]"),
    ):
        with pytest.raises(shoal.TraceError, match=message):
            shoal.trace(lambda *args: shoal.moe.moe_layer(*args, capacity=C).y, args)
