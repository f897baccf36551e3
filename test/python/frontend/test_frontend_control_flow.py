# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Loops and branches of the frontend."""

import numpy as np
import pytest

from frontend_testing import assert_same, evaluate, shoal

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_while_loop_of_a_tree(tmp_path):
    def run(x, n):
        def more(state):
            return state["i"] < n

        def step(state):
            return {"i": state["i"] + 1, "acc": [state["acc"][0] * 2 + x]}

        return shoal.while_loop(more, step, {"i": 0, "acc": [shoal.zeros_like(x)]})

    result = evaluate(tmp_path, run, X, np.int32(3))
    assert result["i"] == 3 and result["i"].dtype == np.int32
    assert_same("acc", result["acc"][0], X * 7)


def test_branches(tmp_path):
    def run(x, flag, index):
        chosen = shoal.cond(flag, lambda x: (x, x.sum()), lambda x: (-x, x.max()), x)
        switched = [
            shoal.switch(index + i, [lambda: x + 1, lambda: x * 2, lambda: x - 1]) for i in range(4)
        ]
        return chosen, switched

    (x, total), switched = evaluate(tmp_path, run, X, np.array(False), np.int32(-1))
    assert_same("x", x, -X)
    assert total == X.max()
    for actual, expected in zip(switched, (X + 1, X + 1, X * 2, X - 1)):
        assert_same("switch", actual, expected)


def test_fori_loop(tmp_path):
    def run(x, n):
        powers = shoal.fori_loop(0, 3, lambda i, acc: acc.at[i].set(x[0] ** (i + 1)), x)
        return powers, shoal.fori_loop(n, 5, lambda i, acc: acc + i, 0)

    powers, total = evaluate(tmp_path, run, X, np.int32(2))
    assert_same("powers", powers, np.stack([X[0] ** (i + 1) for i in range(3)]), np.float32, 1e-5)
    assert total == 2 + 3 + 4


@pytest.mark.parametrize("reverse", [False, True])
def test_scan(tmp_path, reverse):
    def run(x):
        def step(carry, row):
            carry = carry * 0.5 + row["x"]
            return carry, {"now": carry, "n": row["i"] * 2}

        rows = {"x": x, "i": shoal.arange(3)}
        counted = shoal.scan(lambda n, _: (n + 2, n), 1, length=4)
        return shoal.scan(step, x[0] * 0, rows, reverse=reverse), counted

    (carry, ys), (n, counted) = evaluate(tmp_path, run, X)
    expected, now = np.zeros(4, np.float32), [None] * 3
    for i in range(3)[:: -1 if reverse else 1]:
        expected = now[i] = expected * 0.5 + X[i]
    assert_same("carry", carry, expected)
    assert_same("now", ys["now"], np.stack(now))
    assert ys["n"].tolist() == [0, 2, 4]
    assert n == 9 and counted.tolist() == [1, 3, 5, 7]


def changes_type(x):
    return shoal.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1][:1]), (0, x))


def changes_structure(x):
    return shoal.fori_loop(0, 3, lambda i, s: (s, s), x)


def branches_on_a_value(x):
    if x.sum() > 0:
        return x
    return -x


def leaks(x):
    kept = []
    shoal.fori_loop(0, 3, lambda i, s: (kept.append(s + 1), s)[1], x)
    return kept[0]


def branches_differ(x):
    return shoal.cond(x.sum() > 0, lambda: x, lambda: x.astype("float64"))


@pytest.mark.parametrize(
    "function, message",
    [
        (
            changes_type,
            r"the body's result\[1\]: Value\(float32\[1,4\]\), but Value\(float32\[3,4\]\) in init",
        ),
        (changes_structure, "the body's result has the structure"),
        (branches_on_a_value, r"Value\(bool\[\]\) as bool: .* write shoal.cond"),
        (leaks, "a value of while_loop's body is used after its end"),
        (branches_differ, r"the result of false_fn: Value\(float64\[3,4\]\), but"),
        (lambda x: shoal.cond(x, lambda: x, lambda: x), "expected a scalar bool"),
        (lambda x: shoal.switch(1.5, [lambda: x]), "expected a scalar integer"),
        (lambda x: shoal.scan(lambda c, r: c, x, x), "expected the body to return"),
        (lambda x: shoal.scan(lambda c, r: (c, r), x, x, length=4), r"got \[3, 4\]"),
    ],
)
def test_bad_control_flow(function, message):
    with pytest.raises(shoal.TraceError, match=message):
        shoal.trace(function, (X,))


def test_a_value_of_another_program_is_refused():
    kept = []
    shoal.trace(lambda x: kept.append(x) or x, (X,))
    with pytest.raises(shoal.TraceError, match="is used after its end"):
        shoal.trace(lambda x: x + kept[0], (X,))
    with pytest.raises(shoal.TraceError, match="only inside of a function"):
        kept[0] + 1
