# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arithmetic, functions, comparisons and types of the frontend, against NumPy."""

import numpy as np
import pytest

from frontend_testing import assert_cases, assert_same, evaluate, shoal

X = np.array([[1.5, -2.25, 0.5], [3.0, 0.125, -0.75]], np.float32)
Y = np.array([[0.5], [-4.0]], np.float32)
I = np.array([[7, -7, 3], [-8, 5, 0]], np.int32)
J = np.array([2, -3, 5], np.int32)
U = np.array([3, 200, 2**31 + 5], np.uint32)
B = np.array([True, False, True])

ARITHMETIC = {
    "add": lambda m, x, y, i, j, u, b: x + y,
    "subtract": lambda m, x, y, i, j, u, b: x - y,
    "multiply": lambda m, x, y, i, j, u, b: x * y,
    "divide": lambda m, x, y, i, j, u, b: x / y,
    "floor_divide": lambda m, x, y, i, j, u, b: x // y,
    "remainder": lambda m, x, y, i, j, u, b: x % y,
    "remainder_by_number": lambda m, x, y, i, j, u, b: x % 0.75,
    "fmod": lambda m, x, y, i, j, u, b: m.fmod(x, y),
    "power": lambda m, x, y, i, j, u, b: m.abs(x) ** y,
    "square": lambda m, x, y, i, j, u, b: x**2,
    "fourth": lambda m, x, y, i, j, u, b: x**4,
    "inverse": lambda m, x, y, i, j, u, b: x**-1,
    "root": lambda m, x, y, i, j, u, b: m.abs(x) ** 0.5,
    "number_on_the_left": lambda m, x, y, i, j, u, b: 2 - x,
    "number_over": lambda m, x, y, i, j, u, b: 1 / x,
    "number_to_the_power": lambda m, x, y, i, j, u, b: 2.0**x,
    "array_on_the_left": lambda m, x, y, i, j, u, b: Y * x,
    "scalar_on_the_left": lambda m, x, y, i, j, u, b: np.float32(3) - x,
    "numpy_function": lambda m, x, y, i, j, u, b: np.exp(x) + np.absolute(y),
    "negative": lambda m, x, y, i, j, u, b: -x + +x * 2,
    "abs": lambda m, x, y, i, j, u, b: abs(x) + m.abs(i),
    "sign": lambda m, x, y, i, j, u, b: m.sign(x),
    "maximum": lambda m, x, y, i, j, u, b: m.maximum(x, y),
    "minimum": lambda m, x, y, i, j, u, b: m.minimum(x, 0.25),
    "clip": lambda m, x, y, i, j, u, b: m.clip(x, -1, 1),
    "where": lambda m, x, y, i, j, u, b: m.where(b, x, 0.0),
    "where_numbers": lambda m, x, y, i, j, u, b: m.where(x > 0, 1.0, -1.0),
    "integers_add": lambda m, x, y, i, j, u, b: i + j - 1,
    "integers_multiply": lambda m, x, y, i, j, u, b: i * j,
    "integers_divide": lambda m, x, y, i, j, u, b: i / j,
    "integers_floor": lambda m, x, y, i, j, u, b: i // j,
    "integers_remainder": lambda m, x, y, i, j, u, b: i % j,
    "integers_fmod": lambda m, x, y, i, j, u, b: m.fmod(i, j),
    "integers_power": lambda m, x, y, i, j, u, b: i ** m.abs(j),
    "integers_sixth": lambda m, x, y, i, j, u, b: i**6,
    "integers_negative": lambda m, x, y, i, j, u, b: -i,
    "integers_sign": lambda m, x, y, i, j, u, b: m.sign(i),
    "unsigned_divide": lambda m, x, y, i, j, u, b: u // 7,
    "unsigned_remainder": lambda m, x, y, i, j, u, b: u % 7,
    "unsigned_maximum": lambda m, x, y, i, j, u, b: m.maximum(u, 100),
    "unsigned_minimum": lambda m, x, y, i, j, u, b: m.minimum(u, 100),
    "unsigned_sign": lambda m, x, y, i, j, u, b: m.sign(u),
    "unsigned_wrap": lambda m, x, y, i, j, u, b: u * np.uint32(2**31 + 3),
    "bools_add": lambda m, x, y, i, j, u, b: b + b,
    "bools_multiply": lambda m, x, y, i, j, u, b: b * (x > 0),
    "bool_times_float": lambda m, x, y, i, j, u, b: b * x,
    "mixed": lambda m, x, y, i, j, u, b: x * i + j,
}

LOGIC = {
    "equal": lambda m, x, y, i, j, u, b: i == j,
    "not_equal": lambda m, x, y, i, j, u, b: i != 5,
    "less": lambda m, x, y, i, j, u, b: x < y,
    "less_equal": lambda m, x, y, i, j, u, b: x <= 0.5,
    "greater": lambda m, x, y, i, j, u, b: 0 < i,
    "greater_equal": lambda m, x, y, i, j, u, b: i >= j,
    "unsigned_less": lambda m, x, y, i, j, u, b: u < np.uint32(2**31),
    "unsigned_greater": lambda m, x, y, i, j, u, b: u > 3,
    "nan": lambda m, x, y, i, j, u, b: m.log(x) != m.log(x),
    "nan_less": lambda m, x, y, i, j, u, b: m.log(x) < 10,
    "and": lambda m, x, y, i, j, u, b: b & (x > 0),
    "or": lambda m, x, y, i, j, u, b: b | (x > 0),
    "xor": lambda m, x, y, i, j, u, b: b ^ True,
    "not": lambda m, x, y, i, j, u, b: ~b,
    "bits": lambda m, x, y, i, j, u, b: (i & 6) | (j ^ ~i),
    "unsigned_not": lambda m, x, y, i, j, u, b: ~u,
    "left_shift": lambda m, x, y, i, j, u, b: i << 3,
    "right_shift": lambda m, x, y, i, j, u, b: i >> 1,
    "unsigned_right_shift": lambda m, x, y, i, j, u, b: u >> 1,
    "logical_and": lambda m, x, y, i, j, u, b: m.logical_and(x, i),
    "logical_or": lambda m, x, y, i, j, u, b: m.logical_or(b, i),
    "logical_xor": lambda m, x, y, i, j, u, b: m.logical_xor(b, i),
    "logical_not": lambda m, x, y, i, j, u, b: m.logical_not(i),
    "isnan": lambda m, x, y, i, j, u, b: m.isnan(m.log(x)),
    "isinf": lambda m, x, y, i, j, u, b: m.isinf(m.exp(x * 100)),
    "isfinite": lambda m, x, y, i, j, u, b: m.isfinite(x / (i * 1.0)),
}

FUNCTIONS = [
    *("arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "ceil", "cos", "cosh"),
    *("exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt"),
    *("tan", "tanh", "trunc", "round", "square", "reciprocal"),
]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_arithmetic(tmp_path):
    assert_cases(tmp_path, ARITHMETIC, X, Y, I, J, U, B)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_logic(tmp_path):
    assert_cases(tmp_path, LOGIC, X, Y, I, J, U, B)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_functions(tmp_path):
    cases = {name: lambda m, x, name=name: getattr(m, name)(x) for name in FUNCTIONS}
    cases["arctan2"] = lambda m, x: m.arctan2(x, 0.5)
    cases["arctan2_of_zeros"] = lambda m, x: m.arctan2(m.array([0.0, -0.0, -0.0]), m.array([-0.0, 0.0, -0.0])) + x * 0
    cases["copysign"] = lambda m, x: m.copysign(x, [[-1.0, 1.0, -1.0]])
    cases["of_integers"] = lambda m, x: m.exp(np.int32([1, 2]) + m.zeros(2, np.int32))
    assert_cases(tmp_path, cases, X)


def test_error_functions(tmp_path):
    """NumPy has none; Python's math does."""
    import math

    def run(x):
        return shoal.erf(x), shoal.erfc(x), shoal.rsqrt(shoal.abs(x)), shoal.sigmoid(x)

    erf, erfc, rsqrt, sigmoid = evaluate(tmp_path, run, X)
    assert_same("erf", erf, np.vectorize(math.erf)(X), np.float32)
    assert_same("erfc", erfc, np.vectorize(math.erfc)(X), np.float32)
    assert_same("rsqrt", rsqrt, 1 / np.sqrt(np.abs(X)))
    assert_same("sigmoid", sigmoid, 1 / (1 + np.exp(-X)))


NAMES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]


def test_conversions(tmp_path):
    x = np.array([0, 1, 3, 100], np.float32)

    def run(x):
        first = {name: x.astype(name) for name in (*NAMES, *FLOATS, shoal.bfloat16)}
        return {
            f"{source} to {target}": value.astype(target)
            for source, value in first.items()
            for target in (*NAMES, *FLOATS, shoal.bfloat16)
        }

    for case, actual in evaluate(tmp_path, run, x).items():
        source, target = case.split(" to ")
        assert_same(case, actual, x.astype(source).astype(target))


def test_large_unsigned_integers_are_not_negative(tmp_path):
    u = np.array([0, 2**31, 2**32 - 1], np.uint32)

    def run(u):
        return u.astype("float64"), u.astype("int64"), (u.astype("float64") + 1).astype("uint64")

    wide, signed, back = evaluate(tmp_path, run, u)
    assert wide.tolist() == u.tolist() == signed.tolist()
    assert back.tolist() == [number + 1 for number in u.tolist()]


def test_bits_as_another_type(tmp_path):
    x = np.array([1.0, -2.5], np.float32)

    def run(x):
        halves = shoal.bitcast(x, np.uint16)
        return shoal.bitcast(x, np.uint32), halves, shoal.bitcast(halves, np.float32)

    whole, halves, back = evaluate(tmp_path, run, x)
    assert_same("whole", whole, x.view(np.uint32))
    assert_same("halves", halves, x.view(np.uint16).reshape(2, 2))
    assert_same("back", back, x)


def test_promotion_is_jaxs():
    """Of all pairs of types, and of Python numbers with each; 64 bits are on in JAX here."""
    jax = pytest.importorskip("jax")
    everything = [np.dtype(name) for name in (*NAMES, *FLOATS, shoal.bfloat16)]
    for a in everything:
        for b in everything:
            pair = {a.name, b.name}
            if "uint64" in pair and pair & {"int8", "int16", "int32", "int64"}:
                with pytest.raises(shoal.TraceTypeError, match="no common type"):
                    shoal.frontend.dtypes.promote(a, b)
            else:
                ours = shoal.frontend.dtypes.promote(a, b)
                with jax.enable_x64():
                    assert ours == jax.numpy.promote_types(a, b), f"{a}, {b}"


@pytest.mark.parametrize(
    "type, number, expected",
    [
        ("bool", True, "bool"),
        ("bool", 1, "int32"),
        ("bool", 1.0, "float32"),
        ("int8", 1, "int8"),
        ("int64", 1, "int64"),
        ("uint8", True, "uint8"),
        ("int64", 1.0, "float32"),
        ("float16", 1, "float16"),
        ("float64", 1.0, "float64"),
        (shoal.bfloat16, np.float64(2), "bfloat16"),
        ("float32", np.float64(2), "float32"),
        ("float32", np.float32(2), "float32"),
        ("float16", np.float32(2), "float32"),
    ],
)
def test_python_numbers_take_the_type_of_the_others(type, number, expected):
    kinds = []

    def run(x):
        kinds.append(
            (x + number).dtype if type != "bool" or number is not True else (x & number).dtype
        )
        return x

    shoal.trace(run, (shoal.TensorSpec((2,), type),))
    assert kinds[0].name == expected
