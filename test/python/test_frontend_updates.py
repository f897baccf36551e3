# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""x.at[...] of the frontend, against NumPy's assignments."""

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
K = np.int32(-2)
ROWS = np.array([2, 0, 2], np.int32)

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
    """Distinct numbers around those of X."""
    return (np.arange(np.prod(shape, dtype=int)) * 3 - 20).reshape(shape).astype(np.float32)


@pytest.mark.parametrize("method", ["set", *UFUNCS])
def test_update(tmp_path, method):
    def run(x, k, rows):
        return {
            name: getattr(x.at[index_of(part, k, rows)], method)(
                update_for(X[index_of(part, K, ROWS)].shape)
            )
            for name, part in PARTS.items()
        }

    actual = evaluate(tmp_path, run, X, K, ROWS)
    for name, part in PARTS.items():
        expected, index = X.copy(), index_of(part, K, ROWS)
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

    zeros, added, largest, smallest, scattered = evaluate(tmp_path, run, X, u)
    expected = X.copy()
    expected[1:] = 0
    assert_same("zeros", zeros, expected)
    expected = X.copy()
    expected[:, 1] += [[1], [2], [3]]
    assert_same("added", added, expected)
    assert largest.tolist() == u.tolist()
    assert smallest.tolist() == [2**32 - 1, 3, 7]
    expected = X.copy()
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
        shoal.trace(lambda x: x.at[index].set(update), (X,))
