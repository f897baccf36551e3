# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Threads in a rank: the same bits for every number of them (docs/guide/Threads.md)."""

import importlib.util
import os

import ml_dtypes
import numpy as np
import pytest

from shoal_testing import TARGET

if TARGET != "cpu":
    pytest.skip("threads are the CPU's", allow_module_level=True)
if importlib.util.find_spec("shoal._native") is None:
    pytest.skip("built without the Python module", allow_module_level=True)

import shoal
from shoal.errors import InputError, RunError

FLOAT = np.float32


def feed_forward(x, w, v):
    """Products, with rows and maps between them, and sums of columns behind."""
    h = shoal.layer_norm(shoal.gelu(shoal.einsum("sm,mh->sh", x, w)))
    y = shoal.softmax(shoal.einsum("sh,hm->sm", h, v) + x)
    return y, y.sum(0), y.transpose(1, 0) * 2.0


def moves(x, tokens, keys):
    """What the runtime does itself."""
    rows = shoal.take(x, tokens, 0)
    added = shoal.scatter_add(x, tokens, rows * 0.5)
    values, places = shoal.top_k(x, 40)
    return rows, added, shoal.sort(keys, axis=0), values, places, x.cumsum(0)


def loss(x, w, v):
    y, _, _ = feed_forward(x, w, v)
    return (y * y).sum()


def rows(x, scores):
    """Ops on the same rows, of more than caches have: one kernel each (--shoal-group-rows)."""
    masked = shoal.softmax(shoal.where(scores > -1.5, scores, -1e9))
    return shoal.layer_norm(x), shoal.log_softmax(x), masked, shoal.softmax(x, axis=0)


def loss_of_rows(x, scores):
    normal, logs, masked, _ = rows(x, scores)
    return (normal * normal * logs).sum() + (masked * masked).sum()


PROGRAMS = {
    "feed_forward": (feed_forward, [(700, 300), (300, 600), (600, 300)]),
    "gradients": (
        shoal.grad(loss, argnums=(0, 1, 2)), [(700, 300), (300, 600), (600, 300)],
    ),
    "rows": (rows, [(1024, 600), (2, 3, 512, 260)]),
    "gradients of rows": (
        shoal.grad(loss_of_rows, argnums=(0, 1)), [(1024, 600), (2, 3, 512, 260)],
    ),
    "moves": (moves, [(600, 400), 5000, (300, 500)]),
}


def make_inputs(shapes):
    """Floats, and for a number so many indices of rows."""
    random = np.random.default_rng(0)
    return [
        random.integers(0, 600, shape, dtype=np.int32)
        if isinstance(shape, int)
        else random.standard_normal(shape, FLOAT)
        for shape in shapes
    ]


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_do_not_depend_on_the_number_of_threads(name):
    function, shapes = PROGRAMS[name]
    inputs = make_inputs(shapes)
    exe = shoal.compile(function, inputs)
    results = {}
    for threads in (1, 2, 4):
        stats = {}
        results[threads] = [np.asarray(r) for r in exe.run(inputs, threads=threads, stats=stats)]
        assert stats["threads_per_rank"] == threads
    for threads in (2, 4):
        for one, other in zip(results[1], results[threads]):
            assert one.tobytes() == other.tobytes(), f"{threads} threads"


def softmax(x, axis=-1):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def test_rows_run_by_one_kernel_are_those_of_numpy():
    inputs = make_inputs(PROGRAMS["rows"][1])
    exe = shoal.compile(rows, inputs)
    x, scores = (array.astype(np.float64) for array in inputs)
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    expected = (
        (x - mean) / np.sqrt(variance + 1e-5),
        np.log(softmax(x)),
        softmax(np.where(scores > -1.5, scores, -1e9)),
        softmax(x, 0),
    )
    for result, numbers in zip(exe.run(inputs), expected):
        np.testing.assert_allclose(result, numbers, rtol=1e-5, atol=1e-5)


SPECS = ("ab,bc->ac", "ba,bc->ac", "ab,cb->ac", "ab,bc->ca", "ba,cb->ca")


@pytest.mark.parametrize("dtype", (FLOAT, np.float64, ml_dtypes.bfloat16), ids=("f32", "f64", "bf16"))
def test_products_in_pieces(dtype):
    """Large enough to be cut, with ends that are smaller; in all orders of memory."""
    sizes = {"a": 1030, "b": 300, "c": 1100}
    random = np.random.default_rng(0)

    def draw(letters):
        return random.integers(-4, 5, [sizes[c] for c in letters]).astype(dtype)

    pairs = [[draw(term) for term in spec[:5].split(",")] for spec in SPECS]
    inputs = [array for pair in pairs for array in pair]

    def products(*arrays):
        return [shoal.einsum(spec, *arrays[2 * i : 2 * i + 2]) for i, spec in enumerate(SPECS)]

    found = shoal.compile(products, inputs).run(inputs, threads=3)
    for spec, pair, result in zip(SPECS, pairs, found):
        exact = np.einsum(spec, *(array.astype(FLOAT) for array in pair), optimize=True)
        # Sums of whole numbers are exact, and rounded once.
        np.testing.assert_array_equal(np.asarray(result), exact.astype(dtype), spec)


def test_of_two_ranks(monkeypatch):
    """Messages are packed and summed by threads, too."""
    inputs = make_inputs([(512, 256), (256, 512), (512, 256)])

    def step(x, w, v):
        h = shoal.split(shoal.einsum("sm,mh->sh", shoal.split(x, 0, 2), w), 1, 2)
        return shoal.split(shoal.einsum("sh,hm->sm", h, v), 0, 2)

    exe = shoal.compile(step, inputs, shoal.Mesh(x=2))
    results = []
    for threads in (1, 3):
        stats = {}
        monkeypatch.setenv("SHOAL_NUM_THREADS", str(threads))
        results.append(np.asarray(exe.run(inputs, stats=stats)).tobytes())
        assert stats["threads_per_rank"] == threads
    assert results[0] == results[1]


def test_a_rank_alone_has_all_cores(monkeypatch):
    monkeypatch.delenv("SHOAL_NUM_THREADS", raising=False)
    exe = shoal.compile(lambda x: x + 1.0, [np.ones(4, FLOAT)])
    stats = {}
    exe.run([np.ones(4, FLOAT)], stats=stats)
    assert stats["threads_per_rank"] == len(os.sched_getaffinity(0))
    # The argument goes before the variable.
    monkeypatch.setenv("SHOAL_NUM_THREADS", "5")
    exe.run([np.ones(4, FLOAT)], stats=stats)
    assert stats["threads_per_rank"] == 5
    exe.run([np.ones(4, FLOAT)], stats=stats, threads=2)
    assert stats["threads_per_rank"] == 2


def test_numbers_that_are_none(monkeypatch):
    exe = shoal.compile(lambda x: x + 1.0, [np.ones(4, FLOAT)])
    with pytest.raises(InputError, match="threads"):
        exe.run([np.ones(4, FLOAT)], threads=0)
    for value, message in {
        "two": '"two" is not a number of at least 1',
        "0": '"0" is not a number of at least 1',
        "5000": '"5000" is more than 1024',
    }.items():
        monkeypatch.setenv("SHOAL_NUM_THREADS", value)
        with pytest.raises(RunError, match=f"SHOAL_NUM_THREADS: {message}"):
            exe.run([np.ones(4, FLOAT)])
