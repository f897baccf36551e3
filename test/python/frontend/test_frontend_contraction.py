# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of the frontend, also of groups of rows, against NumPy."""

import numpy as np

from frontend_testing import assert_cases, assert_same, evaluate, shoal

RNG = np.random.default_rng(7)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32)

SPECS = {
    "ab,bc->ac": ((3, 4), (4, 5)),
    "ab,bc": ((3, 4), (4, 5)),
    "ba,c": ((3, 4), (2,)),
    "abc->cb": ((3, 4, 5),),
    "aab->b": ((3, 3, 4),),
    "ii": ((4, 4),),
    "GSM, ME -> GSE": ((2, 3, 4), (4, 5)),
    "ab,bc,cd->ad": ((3, 4), (4, 5), (5, 2)),
    "ab,ab,ab->b": ((3, 4), (3, 4), (3, 4)),
    "a,b,c,d->abcd": ((2,), (3,), (4,), (2,)),
    "ab,bc,cd,de,ea->": ((2, 3), (3, 4), (4, 5), (5, 3), (3, 2)),
    "abc,a,b,c->": ((2, 3, 4), (2,), (3,), (4,)),
}

PRODUCTS = {
    "vectors": lambda m, x, w, v: v @ v,
    "matrix_vector": lambda m, x, w, v: w @ v,
    "vector_matrix": lambda m, x, w, v: v @ w.T,
    "matrices": lambda m, x, w, v: w @ w.T,
    "batch": lambda m, x, w, v: x @ w.T,
    "batches": lambda m, x, w, v: m.matmul(x, x[:1].swapaxes(1, 2)),
    "more_batches": lambda m, x, w, v: x[None] @ x[:, None].swapaxes(-1, -2),
    "array_on_the_left": lambda m, x, w, v: np.ones((2, 2), np.float32) @ w,
    "dot": lambda m, x, w, v: m.dot(x, w.T),
    "tensordot": lambda m, x, w, v: m.tensordot(x, w, ((2,), (1,))),
    "tensordot_last": lambda m, x, w, v: m.tensordot(x, w.T, 1),
    "outer": lambda m, x, w, v: m.outer(v, v),
}


def test_einsum(tmp_path):
    args = {
        spec: [RNG.standard_normal(shape).astype(np.float32) for shape in shapes]
        for spec, shapes in SPECS.items()
    }
    actual = evaluate(
        tmp_path,
        lambda *operands: {spec: shoal.einsum(spec, *operands[i]) for i, spec in enumerate(SPECS)},
        *args.values(),
    )
    for spec, operands in args.items():
        assert_same(spec, actual[spec], np.einsum(spec, *operands), np.float32, 1e-5)


def test_products(tmp_path):
    w = RNG.standard_normal((2, 5)).astype(np.float32)
    v = RNG.standard_normal(5).astype(np.float32)
    assert_cases(tmp_path, PRODUCTS, X, w, v, tolerance=1e-5)


def test_sums_of_narrow_floats_may_be_wider(tmp_path):
    x = np.full((2, 300), 1.0, shoal.bfloat16)
    narrow, wide = evaluate(
        tmp_path,
        lambda x: (shoal.einsum("ab,ab->a", x, x), shoal.einsum("ab,ab->a", x, x, dtype="float32")),
        x,
    )
    assert narrow.dtype == shoal.bfloat16 and wide.dtype == np.float32
    assert wide.tolist() == [300, 300]


RNG = np.random.default_rng(11)


def test_groups_of_rows(tmp_path):
    x = RNG.standard_normal((7, 3)).astype(np.float32)
    w = RNG.standard_normal((3, 3, 2)).astype(np.float32)
    sizes = np.array([2, 0, 4], np.int32)

    def run(x, w, sizes):
        ends = shoal.cumsum(sizes, 0)
        return shoal.ragged_dot(x, w, sizes), shoal.ragged_einsum(
            "TM,TH,E->EMH", "T", x, x[:, :2], ends - sizes, ends
        )

    dot, gradient = evaluate(tmp_path, run, x, w, sizes)
    groups = [slice(0, 2), slice(2, 2), slice(2, 6)]
    expected = np.zeros((7, 2), np.float32)
    for group, matrix in zip(groups, w):
        expected[group] = x[group] @ matrix
    assert_same("dot", dot, expected, np.float32, 1e-5)
    gradients = np.stack([x[group].T @ x[group, :2] for group in groups])
    assert_same("gradient", gradient, gradients, np.float32, 1e-5)
