# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the frontend says is wrong, and that it and the compiler say where."""

import traceback

import numpy as np
import pytest

from frontend_testing import shoal
from shoal import P, TensorSpec
from shoal_testing import BIN, run

X = np.ones((4, 16), np.float32)
W = np.ones((8, 3), np.float32)
MESH = shoal.Mesh(x=4)


def product(x, w):
    y = x * 2
    return shoal.einsum("ab,bc->ac", y, w)


def in_a_loop(x, w):
    def body(i, total):
        return total + product(x, w)

    return shoal.fori_loop(0, 3, body, x)


@pytest.mark.parametrize("function", [product, in_a_loop])
def test_the_traceback_ends_at_the_users_line(function):
    with pytest.raises(shoal.TraceError) as raised:
        shoal.trace(function, (X, W))
    message = 'einsum "ab,bc->ac": letter b is 16 in operand 0 and 8 in operand 1'
    assert str(raised.value) == message
    last = traceback.extract_tb(raised.value.__traceback__)[-1]
    assert (last.filename, last.lineno) == (__file__, product.__code__.co_firstlineno + 2)
    assert isinstance(raised.value, ValueError)


def test_every_op_has_the_line_and_column_that_made_it():
    def three_lines(x):
        y = x + 1
        z = shoal.layers.feed_forward(y, y.T, y)
        return z[0]

    first = three_lines.__code__.co_firstlineno
    lines = shoal.trace(three_lines, (X,)).splitlines()
    for op, offset, column in (
        ("arith.addf", 1, 13),
        ("shoal.transpose", 2, 42),
        ("shoal.relu", 2, 13),
        ("shoal.slice", 3, 16),
    ):
        (line,) = [line for line in lines if op in line]
        assert line.endswith(f'loc("{__file__}":{first + offset}:{column})')
    assert all(" loc(" in line for line in lines if line.lstrip().startswith("%"))


def refused(x):
    bad = shoal.custom_call("bad name", [x], [TensorSpec((4,), "float32")])
    return bad[0]


def gathered(x):
    y = shoal.constrain(x, P("x"))
    return shoal.sort(y.reshape(-1))


@pytest.mark.parametrize(
    "function, flags, offset, message",
    [
        (refused, [], 1, "target"),
        (gathered, ["--max-replicated-bytes=16"], 2, "whole on every device"),
    ],
)
def test_the_compilers_messages_point_at_the_users_line(tmp_path, function, flags, offset, message):
    source = tmp_path / "program.mlir"
    source.write_text(shoal.trace(function, (X,), MESH))
    ended = run(BIN / "shoalc", source, "--emit=spmd", "-o", tmp_path / "out", *flags)
    assert ended.code == 1
    line = function.__code__.co_firstlineno + offset
    assert f"{__file__}:{line}:" in ended.stderr and message in ended.stderr, ended.stderr


@pytest.mark.parametrize(
    "function, message",
    [
        (
            lambda x: x + np.ones((4, 3)),
            r"add: shapes \[4, 16\] and \[4, 3\] do not broadcast: dimension 1 is 16 and 3",
        ),
        (lambda x: x.reshape(5, -1), r"reshape: \[4, 16\] to \[5, -1\]: no size fits for -1"),
        (lambda x: x.reshape(3, 3), r"\[4, 16\] has 64 elements, \[3, 3\] has 9"),
        (lambda x: x.transpose(0, 0), r"\[0, 0\] is not a permutation"),
        (lambda x: x.sum(2), "sum: axis 2 of 2 dimensions"),
        (lambda x: x.sum((0, -2)), "sum: an axis occurs twice"),
        (lambda x: x.squeeze(0), "squeeze: dimension 0 has size 4, not 1"),
        (lambda x: x @ x, r"matmul: \[4, 16\] @ \[4, 16\]: 16 columns and 4 rows"),
        (
            lambda x: shoal.concatenate([x, x[:, 1:]]),
            r"operand 0 is \[4, 16\] and operand 1 is \[4, 15\]",
        ),
        (lambda x: shoal.stack([x, x[0]]), r"operand 1 is \[16\]"),
        (lambda x: shoal.einsum("ab,b->a", x), "2 operands in the spec, 1 given"),
        (
            lambda x: shoal.einsum("abc->a", x),
            r'operand 0 has 2 dimensions, \[4, 16\], and 3 letters, "abc"',
        ),
        (lambda x: shoal.einsum("a...->a", x), r'expected letters, "," and "->", got "."'),
        (lambda x: shoal.einsum("ab->ac", x), "letter c of the result is in no operand"),
        (lambda x: shoal.top_k(x, 17), r"top_k: k = 17 of the last dimension of \[4, 16\]"),
        (lambda x: shoal.top_k_gating(x, 2, capacity=3), r"expected gates \[G, S, E\]"),
        (lambda x: shoal.top_k_gating(x[None], 2), "expected one of capacity and capacity_factor"),
        (lambda x: shoal.conv(x, x, "bf,io->bf"), "expected the letters"),
        (
            lambda x: shoal.conv(x[None], x[None, :3], "b0f,0io->b0f"),
            "f is 16 in the operand, i is 3 in the kernel",
        ),
        (lambda x: shoal.max_pool(x, (2,)), "a window of 1 dimensions for 2"),
        (lambda x: shoal.pad(x, [(0, 0), (-20, 0)]), r"pad: .* has a negative size"),
        (lambda x: x[4], "index of dimension 0: 4 is out of range for size 4"),
        (lambda x: x[0, 0, 0], r"3 entries for 2 dimensions, \[4, 16\]"),
        (lambda x: x[[0, 7]], "index of dimension 0: 7 is out of range"),
        (
            lambda x: shoal.random.uniform(x, (2,)),
            r"expected a key, two int32 or int64, got Value\(float32\[4,16\]\)",
        ),
        (
            lambda x: shoal.ragged_dot(x, x[None], shoal.array([4])),
            r"letter M is 16 in operand 0 and 4 in operand 1",
        ),
        (lambda x: x.astype("int8") + 1000, r"1000 does not fit in int8, which is -128 \.\.\. 127"),
        (lambda x: x.astype("uint8") - -1, "-1 does not fit in uint8"),
        (lambda x: shoal.array(2**31), "2147483648 does not fit in int32"),
        (lambda x: shoal.mean(x[:0]), r"mean: of no elements, \[0, 16\]"),
    ],
)
def test_shapes_that_do_not_fit(function, message):
    with pytest.raises(shoal.TraceError, match=message):
        shoal.trace(function, (X,))


def assigns(x):
    x[0] = 1
    return x


def iterates_over_a_scalar(x):
    return list(x.sum())


@pytest.mark.parametrize(
    "function, message",
    [
        (
            lambda x: x and 1,
            "as bool: its elements are known only when the program runs; write shoal.cond",
        ),
        (lambda x: int(x[0, 0]), "as int: .* write .astype"),
        (lambda x: float(x[0, 0]), "as float"),
        (lambda x: range(x[0, 0]), "as an index"),
        (lambda x: np.asarray(x), "as a NumPy array: .* use functions of shoal"),
        (lambda x: np.sum(x), "np.sum does not take Values; use shoal.sum"),
        (lambda x: np.fft.fft(x), "np.fft does not take Values; use functions of shoal"),
        (lambda x: np.add.reduce(x), r"np.add.reduce\(...\) does not take Values"),
        (lambda x: np.hypot(x, x), r"np.hypot\(...\) does not take Values"),
        (assigns, r"write x = x.at\[index\].set\(y\)"),
        (iterates_over_a_scalar, "len: a scalar has no length"),
        (lambda x: x + "text", "expected a Value, a NumPy array or a number, got str"),
        (lambda x: x + [x, x], "a list with Values in it; make one by shoal.stack"),
        (lambda x: x + 1j, "got complex"),
        (lambda x: x + np.complex64(1), "elements of type complex64 are not supported"),
        (lambda x: x.astype("datetime64"), "elements of type datetime64 are not supported"),
        (lambda x: x.astype("nothing"), "'nothing' is not a type of elements"),
        (lambda x: x & 1, "&: expected bools or integers, got float32"),
        (lambda x: -(x > 0), "negative: the operand is bool; use ~"),
        (lambda x: (x > 0) - (x > 1), "subtract: the operands are bool"),
        (lambda x: x.astype("int32").at[0].set(0.5), "at: an update: float for elements of int32"),
        (
            lambda x: shoal.pad(x > 0, [(1, 0), (0, 0)], 2),
            "pad: the value: int for elements of bool",
        ),
        (lambda x: x.astype("int32") ** -1, "int32 to the power -1 is no integer"),
        (lambda x: shoal.where(x, 1, 0), "expected a condition of bool, got float32"),
        (lambda x: x[x > 0], "expected integers .for a mask: shoal.where."),
        (lambda x: x[np.array([True, False, True, True])], "a mask of bool; use shoal.where"),
        (lambda x: x[1.0], "float; expected integers, slices, None, ..."),
        (lambda x: x[: x[0, 0].astype("int32")], "use shoal.dynamic_slice, which has a fixed size"),
        (lambda x: x.reshape(2.0, -1), "float"),
        (lambda x: x.astype("uint64") + np.int8(1), "uint64 and int8 have no common type"),
        (lambda x: shoal.one_hot(x, 4), "expected indices of integers, got float32"),
        (
            lambda x: shoal.random.normal(np.int32([0, 1]), 3, "int32"),
            "elements of int32; expected floats",
        ),
    ],
)
def test_types_that_do_not_fit(function, message):
    with pytest.raises(shoal.TraceTypeError, match=message) as raised:
        shoal.trace(function, (X,))
    assert isinstance(raised.value, TypeError)
