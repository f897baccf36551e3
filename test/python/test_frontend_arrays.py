# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes, indexing, reductions, order and products of the frontend, against NumPy."""

import numpy as np
import pytest

from frontend_testing import assert_cases, assert_same, evaluate, shoal

RNG = np.random.default_rng(7)
X = RNG.standard_normal((3, 4, 5)).astype(np.float32)
I = RNG.integers(-50, 50, (3, 4), np.int32)
U = RNG.integers(0, 2**32, (3, 4), np.uint32)
K = np.int32(-2)
ROWS = np.array([[2, 0], [-1, 1]], np.int32)
B = np.array([[True, False, True], [False, False, False]])

SHAPES = {
    "reshape": lambda m, x, i: x.reshape(4, -1),
    "reshape_to_tuple": lambda m, x, i: m.reshape(x, (5, 12)),
    "T": lambda m, x, i: x.T,
    "transpose": lambda m, x, i: x.transpose(1, 2, 0),
    "swapaxes": lambda m, x, i: x.swapaxes(0, -1),
    "moveaxis": lambda m, x, i: m.moveaxis(x, 2, 0),
    "ravel": lambda m, x, i: x.ravel(),
    "expand_dims": lambda m, x, i: m.expand_dims(x, (0, 2)),
    "squeeze": lambda m, x, i: m.squeeze(x.reshape(1, 3, 1, 20)),
    "squeeze_axis": lambda m, x, i: x.reshape(1, 60, 1).squeeze(0),
    "broadcast_to": lambda m, x, i: m.broadcast_to(x[:, :1], (2, 3, 4, 5)),
    "concatenate": lambda m, x, i: m.concatenate([x, x[:1], i[:2, :, None] + x[:2]]),
    "stack": lambda m, x, i: m.stack([i, i + 1], 1),
    "pad": lambda m, x, i: m.pad(i, [(1, 0), (0, 2)]),
    "flip": lambda m, x, i: m.flip(x, (0, 2)),
    "flip_all": lambda m, x, i: m.flip(i),
    "roll": lambda m, x, i: m.roll(x, -2, 1),
    "repeat": lambda m, x, i: m.repeat(i, 2, 1),
    "tile": lambda m, x, i: m.tile(i, (2, 1, 3)),
    "zeros_like": lambda m, x, i: m.zeros_like(x) + m.ones_like(i)[:, :, None],
    "arange": lambda m, x, i: m.arange(5) + m.arange(2, 12, 2),
    "arange_down": lambda m, x, i: m.arange(5, -1, -2),
    "eye": lambda m, x, i: m.eye(3, 4) * i,
    "tril": lambda m, x, i: m.tril(i, -1),
    "triu": lambda m, x, i: m.triu(i, 1),
    "full": lambda m, x, i: m.full((2, 3), 7) + m.full((), 1.5),
}

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

AXES = (None, 0, -1, (0, 2))
REDUCTIONS = {
    f"{name} {axis} {keep}": lambda m, x, i, u, b, name=name, axis=axis, keep=keep: getattr(
        m, name
    )(x, axis=axis, keepdims=keep)
    for name in ("sum", "prod", "max", "min", "mean", "var", "std")
    for axis in AXES
    for keep in (False, True)
} | {
    "methods": lambda m, x, i, u, b: x.sum(1) + x.max(1) + x.min(axis=1) + x.mean(1) + x.prod(1),
    "integers": lambda m, x, i, u, b: i.sum() + i.max(0) + i.min(0),
    "small_integers": lambda m, x, i, u, b: i.astype(np.int8).sum(1),
    "unsigned_max": lambda m, x, i, u, b: u.max(0),
    "unsigned_min": lambda m, x, i, u, b: u.min(),
    "count": lambda m, x, i, u, b: b.sum(1),
    "any": lambda m, x, i, u, b: b.any(1),
    "all": lambda m, x, i, u, b: m.all(b[:, ::2], axis=1),
    "any_number": lambda m, x, i, u, b: m.any(i, axis=0),
    "max_of_bools": lambda m, x, i, u, b: b.max(1) & ~b.min(1),
    "argmax": lambda m, x, i, u, b: x.argmax(1),
    "argmin": lambda m, x, i, u, b: m.argmin(x, 2),
    "argmax_of_all": lambda m, x, i, u, b: x.argmax(),
    "unsigned_argmax": lambda m, x, i, u, b: u.argmax(1),
    "sort": lambda m, x, i, u, b: m.sort(x, 1),
    "sort_last": lambda m, x, i, u, b: m.sort(i),
    "unsigned_sort": lambda m, x, i, u, b: m.sort(u),
    "argsort": lambda m, x, i, u, b: m.argsort(x, 2),
    "unsigned_argsort": lambda m, x, i, u, b: m.argsort(u, 0),
    "cumsum": lambda m, x, i, u, b: x.cumsum(1),
    "cumsum_of_bools": lambda m, x, i, u, b: m.cumsum(b, 1),
    "cumprod": lambda m, x, i, u, b: m.cumprod(x, 2),
}

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


def test_shapes(tmp_path):
    assert_cases(tmp_path, SHAPES, X, I)


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


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_reductions_and_order(tmp_path):
    assert_cases(tmp_path, REDUCTIONS, X, I, U, B, tolerance=1e-5)


def test_running_extrema_of_unsigned_integers(tmp_path):
    def run(x, u):
        return {
            "max": shoal.cummax(u, 1),
            "min": shoal.cummin(u, 1, reverse=True),
            "exclusive": shoal.cumsum(x, 2, exclusive=True),
            "descending": shoal.sort(u, descending=True),
            "top": shoal.top_k(u, 2),
            "by": shoal.sort_by([u % 2, u], 1, num_keys=2)[1],
        }

    actual = evaluate(tmp_path, run, X, U)
    assert_same("max", actual["max"], np.maximum.accumulate(U, 1))
    assert_same("min", actual["min"], np.minimum.accumulate(U[:, ::-1], 1)[:, ::-1])
    assert_same("exclusive", actual["exclusive"], np.cumsum(X, 2) - X, np.float32, 1e-5)
    order = np.argsort(U, 1)[:, ::-1]
    descending = np.take_along_axis(U, order, 1)
    assert_same("descending", actual["descending"], descending)
    assert_same("top", actual["top"][0], descending[:, :2])
    assert_same("places", actual["top"][1], order[:, :2], np.int32)
    by = np.stack([row[np.lexsort((row, row % 2))] for row in U])
    assert_same("by", actual["by"], by)


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
