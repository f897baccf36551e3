# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Factors, solutions, eigenvalues and singular values of batches that devices share."""

import importlib.util

import numpy as np
import pytest

pytest.importorskip("jax")
if importlib.util.find_spec("shoal._native") is None:
    pytest.skip("built without the Python module", allow_module_level=True)

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import shoal.jax
from jax_import_testing import auto_mesh, compare_with_jax
from shoal import CompileError

RNG = np.random.default_rng(0)
linalg = jnp.linalg


def reals(*shape, dtype=np.float32):
    return RNG.standard_normal(shape).astype(dtype)


def numbers(*shape, dtype=np.complex64):
    return (reals(*shape) + 1j * reals(*shape)).astype(dtype)


def regular(a):
    """Square matrices far from singular ones."""
    return a + 4 * np.eye(a.shape[-1], dtype=a.dtype)


def adjoint(a):
    return a.swapaxes(-1, -2).conj()


def positive(a):
    return regular(a @ adjoint(a))


def factors(a):
    return {
        "lu": lax.linalg.lu(a),
        "qr": linalg.qr(a),
        "complete": linalg.qr(a, mode="complete"),
        "svd": linalg.svd(a),
        "thin": linalg.svd(a, full_matrices=False),
        "singular": linalg.svd(a, compute_uv=False),
    }


def without_sign(values, vectors, a):
    """Values, vectors but for the sign that LAPACK leaves open, and that they are vectors of `a`: ones."""
    return values, abs(vectors), 1 + a @ vectors - vectors * values[..., None, :]


def spectra(a):
    values, vectors = linalg.eig(a)
    left = lax.linalg.eig(a, compute_left_eigenvectors=True, compute_right_eigenvectors=False)[1]
    return {
        "eigh": linalg.eigh(a + adjoint(a)),
        "upper": linalg.eigvalsh(a, UPLO="U"),
        "eig": without_sign(values, vectors, a),
        "eigvals": linalg.eigvals(a),
        "left": abs(left),
    }


def solutions(a):
    return {
        "solve": linalg.solve(regular(a), a[..., :2]),
        "inv": linalg.inv(regular(a)),
        "det": linalg.det(a),
        "slogdet": linalg.slogdet(a),
        "cholesky": linalg.cholesky(positive(a)),
    }


def weighted(results):
    """A number that depends on all of them, and on no sign of a vector."""
    leaves = [jnp.abs(x) for x in jax.tree.leaves(results)]
    return sum(jnp.sum(x * jnp.arange(1.0, x.size + 1).reshape(x.shape)) for x in leaves)


def slopes(a):
    """The gradients that JAX has formulas for."""

    def of(function):
        return jax.grad(lambda x: weighted(function(x)))(a)

    return {
        "qr": of(linalg.qr),
        "lu": of(lambda x: lax.linalg.lu(regular(x))[0]),
        "eigh": of(lambda x: linalg.eigh(x + adjoint(x))),
        "singular": of(lambda x: linalg.svd(x, full_matrices=False)),
        "eigvals": of(linalg.eigvals),
        "solve": of(lambda x: linalg.solve(regular(x), x)),
        "slogdet": of(lambda x: linalg.slogdet(x)[1]),
        "cholesky": of(lambda x: linalg.cholesky(positive(x))),
    }


def complex_slopes(a):
    def of(x):
        return weighted((linalg.solve(regular(x), x), linalg.eigh(x + adjoint(x))))

    return jax.grad(of)(a)


# What is made of batches of square matrices, and of which.
OF_SQUARES = [
    (spectra, reals),
    (spectra, numbers),
    (solutions, reals),
    (solutions, numbers),
    (slopes, reals),
    (complex_slopes, numbers),
]


def finite(x):
    """NaN for every number that is not finite."""
    x = np.asarray(x)
    return x if x.dtype.kind == "i" else np.where(np.isfinite(x), x, x.dtype.type(np.nan))


def agree(results, expected, tolerance=2e-4):
    """By the largest number of a leaf. What is not finite is so in both: BLAS has NaN of 1 / 0."""
    assert jax.tree.structure(results) == jax.tree.structure(expected)
    paths = jax.tree_util.tree_leaves_with_path(expected)
    for got, (path, wanted) in zip(jax.tree.leaves(results), paths):
        got, wanted = finite(got), finite(wanted)
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        scale = max(np.max(np.abs(np.nan_to_num(wanted)), initial=0), 1e-30)
        np.testing.assert_allclose(
            got / scale, wanted / scale, 0, tolerance, equal_nan=True, err_msg=str(path)
        )


def compiled(function, a, devices, rows=P("x")):
    """Of rows that devices share, evenly or not."""
    mesh = auto_mesh((devices,), ("x",))
    split = NamedSharding(mesh, rows)
    if a.shape[0] % devices == 0:
        return shoal.jax.compile(function, a, mesh=mesh, in_shardings=split)
    return shoal.jax.compile(
        lambda x: function(lax.with_sharding_constraint(x, split)), a, mesh=mesh
    )


def check(function, a, devices):
    program = compiled(function, a, devices)
    agree(program.run(a), jax.jit(function)(a))
    return program


@pytest.mark.parametrize("make", [reals, numbers])
@pytest.mark.parametrize("shape", [(4, 3), (3, 4)])
def test_factors_of_a_split_batch(make, shape):
    assert check(factors, make(8, *shape), 2).stats["bytes_sent_per_device"] == {}


@pytest.mark.parametrize("function, make", OF_SQUARES)
def test_squares_of_a_split_batch(function, make):
    """XLA sends nothing either."""
    program = check(function, make(4, 4, 4), 4)
    assert program.stats["bytes_sent_per_device"] == {}


def all_of_squares(a):
    """And the gradient of det, for which something is sent, by XLA, too."""
    slope = jax.grad(lambda x: weighted(linalg.det(x)))(a)
    return factors(a), spectra(a), solutions(a), slope


def test_uneven_batches():
    """Of six rows the fourth of four devices has none but padding. What is returned is gathered."""
    check(all_of_squares, reals(6, 4, 4), 4)


def test_doubles_and_batches_of_batches():
    with jax.enable_x64(True):
        a = reals(2, 2, 3, 3, dtype=np.float64)
        agree(compiled(all_of_squares, a, 2).run(a), jax.jit(all_of_squares)(a), 1e-10)


def test_the_interpreter_of_one_matrix_and_of_none():
    compare_with_jax(lambda a: (lax.linalg.lu(a), linalg.eigvalsh(a)), reals(5, 5))
    compare_with_jax(lambda a: (lax.linalg.lu(a), linalg.qr(a)), reals(0, 3, 3))
    compare_with_jax(lambda a: (lax.linalg.lu(a), linalg.eigvalsh(a)), reals(2, 0, 0))


def test_what_has_no_solution():
    """A singular matrix and one with NaN, beside others: not finite where it is none in JAX."""
    a = reals(4, 4, 4)
    a[1, 2] = a[1, 3] = 0
    a[2, 1, 1] = np.nan
    a[3, 0, 3] = np.inf

    def function(a):
        factor = linalg.cholesky(-positive(a[:2]))
        return linalg.inv(a[:2]), linalg.det(a), linalg.eigvals(a), factor

    def of_symmetric(a):
        values = linalg.svd(a[:3], compute_uv=False)
        return linalg.eigvalsh(a[:3]), values, linalg.matrix_rank(a[:2])

    for one in (function, of_symmetric):
        program = compiled(one, a, 2)
        agree(program.run(a), jax.jit(one)(a))


def test_matrices_are_whole():
    """Split rows of one matrix are gathered: LAPACK has it on one device."""
    a = reals(8, 8)
    program = check(lambda a: linalg.eigvalsh(a), a, 4)
    assert "all_gather" in program.stats["bytes_sent_per_device"]


def test_gpus():
    with pytest.raises(CompileError, match="cuSOLVER is not linked; compile for the CPU"):
        mesh = auto_mesh((1,), ("x",))
        shoal.jax.compile(lambda a: linalg.eigvalsh(a), reals(4, 4), target="cuda", mesh=mesh)
