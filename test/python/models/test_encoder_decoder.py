# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`shoal.models.EncoderDecoder`: beside loops in NumPy, over devices, with padding, token by token."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import shoal
from frontend_testing import assert_same, evaluate
from shoal.frontend.pytrees import flatten
from shoal.models import EncoderDecoder
from shoal.layers import cross_entropy
from shoal.moe import Layout, MoeConfig

DENSE = EncoderDecoder(19, 8, 2, 12, (False, False), (False, False))
GSHARD = MoeConfig.gshard(4, 12, moe_group_size=8)
EXPERTS = replace(DENSE, encoder=(True, False), decoder=(True, False), moe=GSHARD)
# No drops, so that how much padding there is does not matter.
ROOMY = replace(EXPERTS, moe=GSHARD.replace(moe_group_size=None, moe_expert_capacity_factor=4.0))


def batch(seed=0, pairs=4, source=6, target=4):
    """Rows of several lengths, the longest full."""
    rng = np.random.default_rng(seed)
    made = {"source": np.zeros((pairs, source), np.int32), "target": np.zeros((pairs, target), np.int32)}
    for row in range(pairs):
        length, ends = source - row % 3, target - row % 2
        made["source"][row, :length] = rng.integers(3, 19, length)
        made["target"][row, : ends - 1] = rng.integers(3, 19, ends - 1)
        made["target"][row, ends - 1] = 2
    return made


class Oracle:
    """The dense model in float64, place by place, without a padding token in sight."""

    def __init__(self, params, model):
        self.params, self.model = params, model

    def norm(self, x, scale):
        return x / np.sqrt(np.mean(x * x) + self.model.rms_norm_eps) * scale

    def turned(self, heads, place):
        """Halves of a head are coordinates that turn by the place."""
        half = heads.shape[-1] // 2
        angle = place * 10000.0 ** (-np.arange(half) / half)
        a, b = heads[..., :half], heads[..., half:]
        return np.concatenate([a * np.cos(angle) - b * np.sin(angle), b * np.cos(angle) + a * np.sin(angle)], -1)

    def attend(self, weights, queries, others, turn, causal):
        """x [S, M] of queries [S, M] and what they look at, [T, M]."""
        made = []
        for s, query in enumerate(queries):
            seen = range(s + 1) if causal else range(len(others))
            out = 0.0
            for n in range(self.model.num_attention_heads):
                q = query @ weights["wq"][:, n]
                keys = [others[t] @ weights["wk"][:, n] for t in seen]
                if turn:
                    q, keys = self.turned(q, s), [self.turned(key, t) for t, key in zip(seen, keys)]
                e = np.exp([q @ key / np.sqrt(len(q)) for key in keys])
                value = sum(w * (others[t] @ weights["wv"][:, n]) for w, t in zip(e / e.sum(), seen))
                out = out + value @ weights["wo"][n]
            made.append(out)
        return np.array(made)

    def layer(self, x, layer, causal, memory=None):
        y = np.array([self.norm(row, layer["attention_norm"]) for row in x])
        x = x + self.attend(layer["attention"], y, y, True, causal)
        if memory is not None:
            y = np.array([self.norm(row, layer["cross_norm"]) for row in x])
            x = x + self.attend(layer["cross"], y, memory, False, False)
        y = np.array([self.norm(row, layer["post_norm"]) for row in x])
        return x + np.maximum(y @ layer["dense"]["wi"], 0) @ layer["dense"]["wo"]

    def embedded(self, tokens):
        return self.params["embed"][tokens].astype(np.float64) * np.sqrt(self.model.hidden_size)

    def nll(self, batch):
        terms = []
        for source, target in zip(batch["source"], batch["target"]):
            source, target = source[source != 0], target[target != 0]
            memory, x = self.embedded(source), self.embedded(np.array([1, *target[:-1]]))
            for layer in self.params["encoder"]:
                memory = self.layer(memory, layer, False)
            memory = np.array([self.norm(row, self.params["encoder_norm"]) for row in memory])
            for layer in self.params["decoder"]:
                x = self.layer(x, layer, True, memory)
            for row, token in zip(x, target):
                logits = self.norm(row, self.params["decoder_norm"]) @ self.params["embed"].T
                terms.append(np.log(np.exp(logits).sum()) - logits[token])
        return np.mean(terms)


def test_the_loss_is_that_of_loops_without_padding(tmp_path):
    params, made = DENSE.init(3), batch()
    value, metrics = evaluate(tmp_path, DENSE.loss, params, made)
    expected = Oracle(params, DENSE).nll(made)
    assert_same("nll", metrics["nll"], expected, np.float32, 1e-5)
    assert value == metrics["nll"] and sorted(metrics) == ["balance", "nll", "weight"]


@pytest.mark.parametrize("model", [DENSE, ROOMY])
def test_more_padding_changes_nothing(tmp_path, model):
    params, made = model.init(1), batch()
    padded = {name: np.pad(rows, [(0, 2), (0, 3)]) for name, rows in made.items()}

    def losses(params, *rows):
        return [model.loss(params, part, training=False) for part in rows]

    both = evaluate(tmp_path, losses, params, made, padded)
    (value, metrics), (other, others) = both
    assert_same("loss", other, value, np.float32, 1e-5)
    for name in metrics:
        assert_same(name, others[name], metrics[name], np.float32, 1e-5)


def test_experts_count_tokens_that_are_there(tmp_path):
    params, made = EXPERTS.init(1), batch()
    _, metrics = evaluate(tmp_path, partial(EXPERTS.loss, training=False), params, made)
    tokens = [(made[name] != 0).sum() for name in ("source", "target")]
    np.testing.assert_array_equal(metrics["counts"].sum(1), np.multiply(tokens, 2))
    names, rate = EXPERTS.moe.moe_router_load_balancing_type, EXPERTS.moe.loss_coefficient("gshard")
    assert names == ("gshard",) and metrics["gshard"].shape == (len(metrics["counts"]),) and metrics["balance"] > 0
    assert metrics["balance"] == pytest.approx(rate * metrics["gshard"].mean(), rel=1e-5)


def test_experts_that_choose_are_not_causal():
    chooses = MoeConfig.flat(
        4, 8, router_type="expert_choice", moe_router_load_balancing_type=(), moe_expert_capacity_factor=1.0
    )
    with pytest.warns(UserWarning, match='decoder layers with ExpertChoice'):
        replace(EXPERTS, moe=chooses)
    replace(EXPERTS, moe=chooses, decoder=(False,))  # an encoder may


def test_loss_and_gradients_over_devices(tmp_path):
    """Groups and the noise of second choices are those of the whole batch."""
    params, made = EXPERTS.init(2), batch()
    layout = Layout.folded({"tp": 2, "dp": 2}, {"ep": 4})
    many = EXPERTS.over(layout)

    def gradient(model):
        key = np.array([1, 2], np.int32)
        return lambda p, rows: shoal.value_and_grad(model.loss, has_aux=True)(p, rows, key=key)

    one = evaluate(tmp_path, gradient(EXPERTS), params, made)
    actual = evaluate(tmp_path, gradient(many), params, made, mesh=layout.mesh, devices=4,
                      in_shardings=(many.shardings(), None))  # fmt: skip
    assert_same("loss", actual[0][0], one[0][0], np.float32, 1e-5)
    for got, expected in zip(flatten(actual[1])[0], flatten(one[1])[0]):
        assert_same("gradient", got, expected, np.float32, 1e-5)
    quiet = evaluate(tmp_path, lambda p, rows: EXPERTS.loss(p, rows, training=False)[0], params, made)
    assert one[0][0] != quiet  # the key is used


@pytest.mark.parametrize("model, seed", [(DENSE, 5), (ROOMY, 0)])
def test_greedy_translation_is_the_best_token_of_each_place(tmp_path, model, seed):
    """What comes out, given back as inputs, has itself as the likeliest next tokens."""
    params, source = model.init(seed), batch(pairs=8)["source"]
    # Embeddings that make `end` likely enough to be seen.
    params["embed"][2] *= 3

    def translated(params, source):
        tokens = model.translate(params, source, 6)
        inputs = shoal.concatenate([shoal.full((8, 1), 1, "int32"), tokens[:, :-1]], 1)
        memory = model.encode(params, source).x
        logits = model.logits(params, model.decode(params, memory, source, inputs).x)
        return tokens, shoal.argmax(logits, -1)

    tokens, best = evaluate(tmp_path, translated, params, source)
    assert tokens.shape == (8, 6) and tokens.dtype == np.int32
    behind = np.cumsum((tokens == 2) | (tokens == 0), 1) - ((tokens == 2) | (tokens == 0)) > 0
    np.testing.assert_array_equal(tokens[~behind], best[~behind])
    assert (tokens[behind] == 0).all() and behind.any() and not behind[:, 1:].all()


def test_what_makes_no_model():
    cases = {
        "hidden_size 8 in 3 heads": {"num_attention_heads": 3},
        "hidden_size 8 in 8 heads": {"num_attention_heads": 8},
        "layers with experts, and moe is None": {"decoder": (True,)},
        r"pad, begin, end \(0, 0, 2\)": {"begin": 0},
        r"\(0, 1, 19\): expected three of 19": {"end": 19},
    }
    for message, fields in cases.items():
        with pytest.raises(shoal.TraceError, match=message):
            replace(DENSE, **fields)


def test_cross_entropy_of_what_counts(tmp_path):
    rng = np.random.default_rng(0)
    logits, labels = rng.standard_normal((3, 4, 7)), rng.integers(0, 7, (3, 4)).astype(np.int32)
    mask = rng.random((3, 4)) < 0.5

    def both(logits, labels, mask):
        none = shoal.zeros(mask.shape, "bool")
        return cross_entropy(logits, labels, mask=mask), cross_entropy(logits, labels, mask=none)

    made, nothing = evaluate(tmp_path, both, logits, labels, mask)
    right = np.take_along_axis(logits, labels[..., None], -1)[..., 0] - np.log(np.exp(logits).sum(-1))
    assert_same("nll", made, -right[mask].mean(), np.float64, 1e-6)
    assert nothing == 0


def test_packed_pairs_are_those_alone(tmp_path):
    """Several pairs in a row: self-attention and cross-attention are cut between them, positions and `begin` begin
    anew; and weights of a target's tokens."""
    model, rng = replace(EXPERTS, moe=MoeConfig.flat(4, 12)), np.random.default_rng(2)
    pairs = []
    for source, target in ((4, 3), (2, 5), (3, 2)):
        words = rng.integers(3, model.vocab_size, (1, target)).astype(np.int32)
        pairs.append({"source": rng.integers(3, model.vocab_size, (1, source)).astype(np.int32),
                      "target": np.concatenate([words, [[model.end]]], 1).astype(np.int32)})  # fmt: skip
    row = {name: np.concatenate([pair[name] for pair in pairs] + [np.zeros((1, 2), np.int32)], 1)
           for name in ("source", "target")}  # fmt: skip
    for name in ("source", "target"):
        sizes = [pair[name].shape[1] for pair in pairs] + [2]
        row[f"{name}_segments"] = np.repeat(np.arange(4, dtype=np.int32), sizes)[None]
    weights = rng.integers(0, 3, row["target"].shape).astype(np.float32)
    params = model.init(3)

    def alone(params):
        made = [(model.loss(params, pair), pair["target"].shape[1]) for pair in pairs]
        count = sum(n for _, n in made)
        counts = sum(metrics["counts"] for (_, metrics), _ in made)
        return sum(metrics["nll"] * n for (_, metrics), n in made) / float(count), counts

    def packed(params):
        _, metrics = model.loss(params, row)
        return metrics["nll"], metrics["counts"]

    def weighted(params):
        metrics = model.loss(params, {**row, "weights": weights})[1]
        return metrics, [model.loss(params, {**row, "weights": weights * (weights == n)})[1] for n in (1, 2)]

    def run(params):
        return [shoal.value_and_grad(f, has_aux=True)(params) for f in (alone, packed)], weighted(params)

    (one, other), (whole, parts) = evaluate(tmp_path, run, params)
    for number, (a, b) in enumerate(zip(flatten(other)[0], flatten(one)[0], strict=True)):
        assert_same(str(number), a, b, np.float32, 1e-5)
    assert whole["weight"] == weights[row["target"] != model.pad].sum()
    assert_same("weights", whole["nll"] * whole["weight"], sum(p["nll"] * p["weight"] for p in parts), np.float32, 1e-5)
    for message, batch in {
        r"got \['source', 'source_segments', 'target'\]": {k: v for k, v in row.items() if k != "target_segments"},
        r"got \['mask', 'source', 'target'\]": {**pairs[0], "mask": row["target"]},
        r"weights \[1, 12\] of target \[1, 4\]": {**pairs[0], "weights": weights[:, :12]},
    }.items():
        with pytest.raises(shoal.TraceError, match=message):
            shoal.trace(lambda p, b=batch: model.loss(p, b)[0], (params,))
