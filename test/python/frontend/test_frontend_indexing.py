# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""x[...] and x.at[...] of the frontend, against NumPy's."""

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal

RNG = np.random.default_rng(7)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32)
I = RNG.integers(-50, 50, (3, 4), np.int32)
K = np.int32(-2)
ROWS = np.array([[2, 0], [-1, 1]], np.int32)

INDEXING = {
    "int": lambda x, i, k, rows: x[1],
    "negative": lambda x, i, k, rows: x[-1, 2],
    "slices": lambda x, i, k, rows: x[1:, :-1, 1:4],
    "steps": lambda x, i, k, rows: x[::2, ::3, 1::2],
    "negative_steps": lambda x, i, k, rows: x[::-1, 3:0:-2, -1:1:-1],
    "empty": lambda x, i, k, rows: x[2:1, :, 7:],
    "none": lambda x, i, k, rows: x[None, 1, :, None],
    "ellipsis": lambda x, i, k, rows: x[..., 2],
    "ellipsis_between": lambda x, i, k, rows: x[0, ..., None, 1:],
    "all": lambda x, i, k, rows: x[...],
    "scalar": lambda x, i, k, rows: i[k, 1],
    "scalars": lambda x, i, k, rows: x[k, :, k + 3],
    "scalar_and_slice": lambda x, i, k, rows: x[1:, k, ::-2, None],
    "rows": lambda x, i, k, rows: x[rows],
    "known_rows": lambda x, i, k, rows: x[[2, -1, 2]],
    "second": lambda x, i, k, rows: x[:, rows],
    "last": lambda x, i, k, rows: x[..., rows],
    "two": lambda x, i, k, rows: x[rows, rows[0]],
    "two_broadcast": lambda x, i, k, rows: x[rows[:, :, None], rows[0]],
    "apart": lambda x, i, k, rows: x[rows, :, rows],
    "apart_by_none": lambda x, i, k, rows: x[rows, None, rows],
    "beside_int": lambda x, i, k, rows: x[1, :, rows],
    "beside_scalar": lambda x, i, k, rows: x[:, k, rows],
    "beside_slices": lambda x, i, k, rows: x[1:, rows - 1, ::-2],
    "beside_none": lambda x, i, k, rows: x[None, :, rows, None],
    "array_rows": lambda x, i, k, rows: x[np.array([[0, 1]]), np.array([[2], [3]])],
    "of_small_type": lambda x, i, k, rows: x[rows.astype(np.int8)],
    "iteration": lambda x, i, k, rows: sum(row[0] for row in i),
}


def test_indexing(tmp_path):
    traced = evaluate(
        tmp_path,
        lambda *args: {name: case(*args) for name, case in INDEXING.items()},
        X,
        I,
        K,
        ROWS,
    )
    for name, case in INDEXING.items():
        assert_same(name, traced[name], case(X, I, K, ROWS))


def test_indices_out_of_range_read_at_the_nearest_end(tmp_path):
    x = np.arange(5, dtype=np.float32)

    def run(x, i):
        return x[i], x[i[0]], x[i[1]], shoal.take(x, i, 0), shoal.dynamic_slice(x, [i[0]], [2])

    results = evaluate(tmp_path, run, x, np.array([7, -9], np.int32))
    assert [result.tolist() for result in results] == [[4, 0], 4, 0, [4, 0], [3, 4]]


def test_take_along_axis(tmp_path):
    order = np.argsort(X, 1)[:, ::-1].astype(np.int32)
    actual = evaluate(tmp_path, lambda x, i: shoal.take_along_axis(x, i, 1), X, order)
    assert_same("take_along_axis", actual, np.take_along_axis(X, order, 1))


Y = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
CHOSEN = np.array([2, 0, 2], np.int32)

PARTS = {
    "int": np.s_[1],
    "negative": np.s_[-1, 2],
    "box": np.s_[1:, :-1, 1:4],
    "steps": np.s_[::2, 1::2],
    "negative_steps": np.s_[::-1, 3:0:-2, 1],
    "reversed": np.s_[:, ::-1],
    "none": np.s_[1, None, :2],
    "ellipsis": np.s_[..., 3],
    "empty": np.s_[2:1],
    "scalar": lambda k, rows: np.s_[k, 1],
    "scalar_and_box": lambda k, rows: np.s_[1:, k, :3],
    "rows": lambda k, rows: np.s_[rows],
    "second": lambda k, rows: np.s_[:, rows],
    "two": lambda k, rows: np.s_[rows, :, rows],
    "two_and_int": lambda k, rows: np.s_[rows, 1, rows],
    "known_rows": np.s_[[0, 2]],
}
UFUNCS = {"add": np.add, "multiply": np.multiply, "max": np.maximum, "min": np.minimum}


def index_of(part, k, rows):
    return part(k, rows) if callable(part) else part


def update_for(shape):
    """Distinct numbers around those of Y."""
    return (np.arange(np.prod(shape, dtype=int)) * 3 - 20).reshape(shape).astype(np.float32)


@pytest.mark.parametrize("method", ["set", *UFUNCS])
def test_update(tmp_path, method):
    def run(x, k, rows):
        return {
            name: getattr(x.at[index_of(part, k, rows)], method)(
                update_for(Y[index_of(part, K, CHOSEN)].shape)
            )
            for name, part in PARTS.items()
        }

    actual = evaluate(tmp_path, run, Y, K, CHOSEN)
    for name, part in PARTS.items():
        expected, index = Y.copy(), index_of(part, K, CHOSEN)
        if method == "set":
            expected[index] = update_for(expected[index].shape)
        else:
            UFUNCS[method].at(expected, index, update_for(expected[index].shape))
        assert_same(name, actual[name], expected)


def test_updates_broadcast_and_take_the_operands_type(tmp_path):
    u = np.array([2**32 - 1, 5, 7], np.uint32)

    def run(x, u):
        rows = shoal.array([0, 0])
        return (
            x.at[1:].set(0),
            x.at[:, 1].add(np.float32([[1], [2], [3]])),
            u.at[rows].max(np.array([3, 2**31], np.uint32)),
            u.at[1:2].min(3),
            shoal.scatter_add(x, rows, shoal.ones((3, 2, 5)), axis=1),
        )

    zeros, added, largest, smallest, scattered = evaluate(tmp_path, run, Y, u)
    expected = Y.copy()
    expected[1:] = 0
    assert_same("zeros", zeros, expected)
    expected = Y.copy()
    expected[:, 1] += [[1], [2], [3]]
    assert_same("added", added, expected)
    assert largest.tolist() == u.tolist()
    assert smallest.tolist() == [2**32 - 1, 3, 7]
    expected = Y.copy()
    expected[:, 0] += 2
    assert_same("scattered", scattered, expected)


@pytest.mark.parametrize(
    "index, update, message",
    [
        (np.s_[1], np.ones(3), r"update of shape \[3\] for a part of shape \[4, 5\]"),
        (np.s_[1], np.float64(np.ones(5)), "an update: float64 for elements of float32"),
        (np.s_[1:, [0, 1]], 1.0, "slice of dimension 0 beside arrays"),
        (np.s_[0], 1 + 1j, "got complex"),
        (np.s_[3], 1.0, "index of dimension 0: 3 is out of range for size 3"),
    ],
)
def test_bad_updates(index, update, message):
    if message.startswith("update of shape"):
        update = update.astype(np.float32)
    with pytest.raises(shoal.TraceError, match=message):
        shoal.trace(lambda x: x.at[index].set(update), (Y,))
