# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers of the frontend, against the reference."""

import numpy as np

from frontend_testing import assert_same, evaluate, shoal
from shoal_reference import normal, uniform


def test_random_numbers(tmp_path):
    def run(key):
        return {
            "seed": shoal.random.key(2**40 + 5),
            "uniform": shoal.random.uniform(key, (2, 3)),
            "half": shoal.random.uniform(key, 4, shoal.bfloat16),
            "range": shoal.random.uniform(key, (2, 3), low=-1.0, high=3.0),
            "normal": shoal.random.normal(key, (5,), "float64"),
            "bernoulli": shoal.random.bernoulli(key, 0.3, (1000,)),
            "randint": shoal.random.randint(key, (1000,), -2, 3),
            "split": shoal.random.split(key, 100),
            "folded": [shoal.random.fold_in(key, i) for i in range(3)],
        }

    key = np.array([17, -3], np.int32)
    actual = evaluate(tmp_path, run, key)
    assert actual["seed"].tolist() == [2**8, 5]
    drawn = uniform((17, 2**32 - 3), (2, 3))
    assert_same("uniform", actual["uniform"], drawn, np.float32)
    assert_same("half", actual["half"], uniform((17, 2**32 - 3), (4,), "bf16"), shoal.bfloat16)
    assert_same("range", actual["range"], drawn * 4 - 1, np.float32)
    expected = normal((17, 2**32 - 3), (5,), "f64")
    assert_same("normal", actual["normal"], expected, np.float64, 1e-12)
    assert 200 < actual["bernoulli"].sum() < 400
    counts = np.bincount(actual["randint"] + 2, minlength=5)
    assert len(counts) == 5 and counts.min() > 140
    assert len({tuple(key) for key in [*actual["split"], *actual["folded"], key]}) == 104


def test_neighbours_of_seeds_and_numbers_are_different_keys(tmp_path):
    def run():
        keys = [shoal.random.key(seed) for seed in range(4)]
        once = [shoal.random.fold_in(key, i) for key in keys for i in range(4)]
        twice = [shoal.random.fold_in(shoal.random.fold_in(keys[0], i), j) for i in range(4) for j in range(4)]
        return once + twice

    assert len({tuple(key) for key in evaluate(tmp_path, run)}) == 32
