# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The math functions of f32 against double precision, over their whole range."""

import math

import numpy as np
import pytest
from shoal_testing import run, save_inputs, shoalc

COUNT = 100_000
# Name, function in double precision, range; a positive one is run through
# exponentially.
FUNCTIONS = [
    ("exp", np.exp, (-87, 88)),
    ("expm1", np.expm1, (-20, 80)),
    ("log", np.log, (1e-30, 1e30)),
    ("log1p", np.log1p, (-0.99, 1e6)),
    ("log2", np.log2, (1e-30, 1e30)),
    ("tanh", np.tanh, (-12, 12)),
    ("erf", np.vectorize(math.erf), (-5, 5)),
    ("sin", np.sin, (-1e4, 1e4)),
    ("cos", np.cos, (-1e4, 1e4)),
    ("rsqrt", lambda x: 1 / np.sqrt(x), (1e-30, 1e30)),
]
SPECIAL = [np.inf, -np.inf, np.nan, 0.0, -0.0, 100.0, -110.0, 1e30, -1e30, 3e38]


def samples(low, high):
    rng = np.random.default_rng(0)
    if low > 0:
        points = np.exp(rng.uniform(np.log(low), np.log(high), COUNT))
        points[: COUNT // 4] = rng.uniform(0.5, 2, COUNT // 4)
    else:
        points = rng.uniform(low, high, COUNT)
        points[: COUNT // 4] *= 1e-3
    return np.float32(points)


@pytest.mark.parametrize(
    "name,function,bounds", FUNCTIONS, ids=[name for name, _, _ in FUNCTIONS]
)
def test_function(name, function, bounds, tmp_path):
    x = np.concatenate([samples(*bounds), np.float32(SPECIAL)])
    kind = f"tensor<{len(x)}xf32>"
    source = tmp_path / "f.mlir"
    source.write_text(
        f"func.func @f(%x: {kind}) -> {kind} {{\n"
        f"  %0 = math.{name} %x : {kind}\n  return %0 : {kind}\n}}\n"
    )
    shoalc(source, tmp_path / "f").expect_success()
    flags = save_inputs(tmp_path, {"arg0": x})
    run(tmp_path / "f", *flags, "--output-dir", tmp_path).expect_success()
    actual = np.float64(np.load(tmp_path / "result0.npy"))
    with np.errstate(all="ignore"):
        expected = np.float64(np.float32(function(np.float64(x))))
        same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        wrong = ~same & ~(np.abs(actual - expected) <= 1e-6 * np.abs(expected))
    assert not wrong.any(), f"{x[wrong]}\n{actual[wrong]}\n{expected[wrong]}"
