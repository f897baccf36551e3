# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One-hot operands beside MoE layers, and what users ask for: defaults, both ways to run."""

import numpy as np
import pytest

jax = pytest.importorskip("jax")

from one_hot_programs import cache_by_choice, cache_by_products, cross_entropy, embedding
from shoal_testing import relative_difference
from sparse_testing import import_program, shapes_in

RANDOM = np.random.default_rng(0)
VOCABULARY, TOKENS, MODEL = 37, 19, 8


def floats(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


def check(program, tolerance, gone=None):
    """Sparse results are those as written; no tensor of the shape `gone` is left."""
    expected, actual = program.evaluate(), program.evaluate_partitioned(sparse=True)
    for name, value in expected.items():
        assert relative_difference(actual[name], value) <= tolerance, name
    if gone:
        assert gone in shapes_in(program.partitioned(sparse=False).read_text())
        assert gone not in shapes_in(program.partitioned(sparse=True).read_text())


def test_embedding_and_its_gradient(tmp_path):
    def program(tokens, table, target):
        rows, gradient = jax.vjp(lambda t: embedding(tokens, t), table)
        return rows, gradient(target)

    # Some are out of range, several the same.
    tokens = RANDOM.integers(-2, VOCABULARY + 2, TOKENS, np.int32)
    arrays = tokens, floats(VOCABULARY, MODEL), floats(TOKENS, MODEL)
    check(import_program(tmp_path, program, *arrays), 1e-6, gone=(TOKENS, VOCABULARY))


def test_cross_entropy_and_its_gradient(tmp_path):
    def program(logits, labels):
        return jax.value_and_grad(cross_entropy)(logits, labels)

    labels = RANDOM.integers(-1, VOCABULARY + 1, TOKENS, np.int32)
    check(import_program(tmp_path, program, floats(TOKENS, VOCABULARY), labels), 1e-6)


@pytest.mark.parametrize("update", [cache_by_choice, cache_by_products])
def test_row_of_a_cache(tmp_path, update):
    def program(cache, new, at):
        return update(cache, new, at)

    at = np.array([0, 11, 5, 12, -1], np.int32)
    check(import_program(tmp_path, program, floats(5, 12, MODEL), floats(5, MODEL), at), 0)
