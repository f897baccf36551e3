# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Padded and packed documents are what they are one by one: loss, counts and all gradients, of every layout."""

import dataclasses
import json

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal
from shoal.frontend.pytrees import flatten
from shoal.models import Model, attend, from_config, rope_of, rotate
from shoal.models.weights import from_tensors
from shoal.moe import Layout
from test_models import FAMILIES, LONGROPE, MODELS, load

LENGTHS = (5, 9, 3)
SIZE = 21  # of a row


def model_of(family, layout=None):
    """A model whose loss is that of its labels and routers alone, each token's by itself: a mean of documents is one
    of their tokens."""
    model, tensors, *_ = load(family)
    moe = model.config.moe.replace(moe_router_load_balancing_type=(), moe_aux_loss_coeff=0.0, moe_z_loss_coeff=0.1)
    model = Model(dataclasses.replace(model.config, moe=moe))
    return (model if layout is None else model.over(layout)), from_tensors(tensors, model.config)


def documents(model, lengths=LENGTHS):
    rng = np.random.default_rng(7)
    return [rng.integers(0, model.config.vocab_size, (1, n)).astype(np.int32) for n in lengths]


def packed(parts, size=SIZE):
    """All in one row, padding between the first two and behind the last: tokens, mask and segments [1, size]."""
    tokens, mask = np.full((1, size), 3, np.int32), np.zeros((1, size), bool)
    segments, place = np.zeros((1, size), np.int32), 0
    for number, part in enumerate(parts):
        here = slice(place, place + part.shape[1])
        tokens[:, here], mask[:, here], segments[:, here] = part, True, 4 - number
        place = here.stop + (number == 0)
        segments[:, here.stop :] = -1
    return {"tokens": tokens, "mask": mask, "segments": segments}


def padded(parts, size=SIZE):
    """A row each, padding behind it, of the second in front: tokens and mask."""
    tokens, mask = np.full((len(parts), size), 3, np.int32), np.zeros((len(parts), size), bool)
    for number, part in enumerate(parts):
        here = slice(size - part.shape[1], size) if number == 1 else slice(part.shape[1])
        tokens[number, here], mask[number, here] = part, True
    return {"tokens": tokens, "mask": mask}


def alone(model, params, parts):
    """The mean over the labels of all documents, each by itself, and its gradient."""

    def loss(params):
        made = [(model.loss(params, part), part.shape[1] - 1) for part in parts]
        count = sum(n for _, n in made)
        mean = {name: sum(m[name] * n for (_, m), n in made) / count for name in ("nll", "balance")}
        counts = sum(metrics["counts"] for (_, metrics), _ in made)
        return mean["nll"] + mean["balance"], {**mean, "counts": counts, "weight": shoal.zeros(()) + float(count)}

    return shoal.value_and_grad(loss, has_aux=True)(params)


def step(model, params, batch):
    (value, metrics), grads = shoal.value_and_grad(model.loss, has_aux=True)(params, batch)
    return (value, {name: metrics[name] for name in ("nll", "balance", "counts", "weight")}), grads


def compare(made, wanted, tolerance=1e-5):
    for number, (a, b) in enumerate(zip(flatten(made)[0], flatten(wanted)[0], strict=True)):
        assert_same(str(number), np.asarray(a), b, np.asarray(b).dtype, tolerance)


@pytest.mark.parametrize("family", FAMILIES)
def test_packed_and_padded_documents(tmp_path, family):
    """Windows, sinks, latent keys and positions that are stretched among them."""
    model, params = model_of(family)
    parts = documents(model)

    def run(params, row, rows):
        return alone(model, params, parts), step(model, params, row), step(model, params, rows)

    one_by_one, *others = evaluate(tmp_path, run, params, packed(parts), padded(parts))
    for made in others:
        compare(made, one_by_one)


def test_without_a_mask_every_token_is_real(tmp_path):
    """Also one that the configuration names as padding: all is as with a mask of ones."""
    model, params = model_of("mixtral")
    config = json.loads((MODELS / "mixtral.json").read_text())["config"]
    assert from_config({**config, "pad_token_id": 3}).config == from_config(config).config
    tokens = padded(documents(model))["tokens"]

    def run(params, tokens):
        everywhere = {"tokens": tokens, "mask": shoal.full(tokens.shape, True)}
        return step(model, params, tokens), step(model, params, everywhere)

    plain, masked = evaluate(tmp_path, run, params, tokens)
    compare(plain, masked)
    counts = np.asarray(plain[0][1]["counts"])
    assert (counts.sum(-1) == tokens[:, 1:].size * model.config.moe.moe_router_topk).all()


LAYOUTS = {
    "ring": Layout.folded({"cp": 4}, cp_comm_type="p2p"),
    "ring, balanced": Layout.folded({"cp": 2}, cp_comm_type="p2p", cp_balanced=True),
    "heads exchanged": Layout.folded({"tp": 2, "cp": 2}, cp_comm_type="a2a", cp_balanced=True),
    "gathered": Layout.folded({"cp": 2, "tp": 2}, {"ep": 4}),
    "stages": Layout.folded({"pp": 2}),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_packed_documents_over_devices(tmp_path, name):
    """gpt-oss has windows and sinks; attention is cut on whatever device a document's places lie."""
    layout = LAYOUTS[name]
    family = {"heads exchanged": "deepseek_v3", "gathered": "qwen3_moe", "stages": "qwen3_moe"}.get(name, "gpt_oss")
    model, params = model_of(family)
    batch = packed(documents(model))
    expected = evaluate(tmp_path, lambda p, b: step(model, p, b), params, batch)
    many = model.over(layout)
    actual = evaluate(
        tmp_path, lambda p, b: step(many, p, b), many.to_stages(params), batch, mesh=layout.mesh,
        devices=layout.mesh.size, in_shardings=(many.shardings(), None),
    )  # fmt: skip
    compare((actual[0], many.to_layers(actual[1])), expected, 2e-5)


def test_labels_and_weights(tmp_path):
    """Of a prompt nothing is predicted; a weight is how often a label counts; parts of a batch by their weights are
    the batch."""
    model, params = model_of("mixtral")
    rng = np.random.default_rng(1)
    tokens = rng.integers(0, model.config.vocab_size, (4, 9)).astype(np.int32)
    labels = np.where(np.arange(9) < [[3], [5], [9], [2]], -100, tokens)  # nothing of the third one
    times = rng.integers(0, 3, tokens.shape).astype(np.float32)

    def run(params, tokens, labels, times):
        logits = model.logits(params, tokens[:, :-1])
        by_labels = model.loss(params, tokens, labels=labels, weights=times)[1]
        halves = [model.loss(params, {"tokens": tokens[i::2], "labels": labels[i::2]})[1] for i in (0, 1)]
        whole = model.loss(params, tokens, labels=labels)[1]
        none = shoal.value_and_grad(model.loss, has_aux=True)(params, tokens, labels=shoal.full(labels.shape, -100))
        return logits, by_labels, halves, whole, none

    logits, by_labels, halves, whole, none = evaluate(tmp_path, run, params, tokens, labels, times)
    wide = np.float64(logits)
    log_p = wide - np.log(np.exp(wide).sum(-1, keepdims=True))
    right = np.take_along_axis(log_p, tokens[:, 1:, None], -1)[..., 0]
    counts = labels[:, 1:] != -100
    assert_same("nll", whole["nll"], -right[counts].mean(), np.float32, 1e-5)
    assert whole["weight"] == counts.sum() == sum(half["weight"] for half in halves)
    of_halves = sum(half["nll"] * half["weight"] for half in halves) / whole["weight"]
    assert_same("halves", of_halves, whole["nll"], np.float32, 1e-5)
    weights = np.where(counts, times[:, 1:], 0)
    assert_same("weighted", by_labels["nll"], -(right * weights).sum() / weights.sum(), np.float32, 1e-5)
    assert by_labels["weight"] == weights.sum()
    (_, metrics), grads = none
    assert metrics["nll"] == metrics["weight"] == 0 and not grads["norm"].any()
    assert all(np.isfinite(leaf).all() for leaf in flatten(grads)[0])


def test_positions_of_your_own(tmp_path):
    """By the values of an array, or as they are known: the same angles, to the bit."""
    x = np.random.default_rng(0).standard_normal((2, 6, 3, 4)).astype(np.float32)
    places = np.array([[0, 1, 2, 0, 1, 0], [5, 4, 90, 2, 1, 0]], np.int32)
    rope = rope_of({"rope_theta": 10000.0}, 4)
    by_value = evaluate(tmp_path, lambda x, p: rotate(x, rope, positions=p), x, places)
    known = evaluate(tmp_path, lambda x: [rotate(x[i : i + 1], rope, positions=places[i]) for i in (0, 1)], x)
    assert_same("turned", by_value, np.concatenate(known), np.float32, 1e-7)


def test_attention_of_segments(tmp_path):
    """`attend` by hand, of two documents that take turns: no place sees the other one."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 8, 2, 4)).astype(np.float32) for _ in range(3))
    segments = np.array([[0, 1, 0, 1, 1, 0, 0, 1]], np.int32)
    made = evaluate(tmp_path, lambda *a: attend(*a[:3], 0.5, segments=a[3]), q, k, v, segments)
    for document in (0, 1):
        here = segments[0] == document
        own = evaluate(tmp_path, lambda *a: attend(*a, 0.5), *(x[:, here] for x in (q, k, v)))
        assert_same("attention", made[:, here], own, np.float32, 2e-6)


def test_what_makes_no_batch():
    model, params = model_of("mixtral")
    tokens, mask = np.zeros((2, 9), np.int32), np.ones((2, 9), bool)

    def refuses(message, batch, model=model, error=shoal.TraceError, **given):
        with pytest.raises(error, match=message):
            shoal.trace(lambda p: model.loss(p, batch, **given)[0], (params,))

    refuses(r"mask \[2, 8\] of tokens \[2, 9\]", tokens, mask=mask[:, 1:])
    refuses(r"segments \[9\] of tokens \[2, 9\]", tokens, segments=tokens[0])
    refuses("expected segments of integers, got bool", tokens, segments=mask)
    refuses("expected positions of integers, got float32", tokens, positions=tokens.astype(np.float32))
    refuses(r"got \['masks', 'tokens'\]", {"tokens": tokens, "masks": mask})
    refuses(r"each once; got \['mask', 'tokens'\] and \['mask'\]", {"tokens": tokens, "mask": mask}, mask=mask)
    refuses(r"tokens: expected \[B, S \+ 1\], got \[9\]", tokens[0])
    refuses(r"1 of 16 labels are neither in 0 ... 23 nor ignore_index=-100, first 24 at \[1, 7\]", tokens,
            labels=np.where(np.arange(18).reshape(2, 9) == 17, 24, 0))  # fmt: skip
    config = {"max_position_embeddings": 64, "original_max_position_embeddings": 4, "rope_theta": 100.0}
    rope = rope_of({**config, "rope_scaling": LONGROPE}, 4)
    long = Model(dataclasses.replace(model.config, rope=rope))
    refuses("segments of 8 places with a longrope, whose frequencies are other ones in documents of more than 4",
            tokens, long, segments=tokens)  # fmt: skip
