# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex numbers and Fourier transforms in imported programs: values are JAX's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shoal.jax
from jax_import_testing import compare_with_jax

RNG = np.random.default_rng(3)


def numbers(*shape, dtype=np.complex64):
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


Z, W = numbers(3, 4), numbers(3, 4)
X = RNG.standard_normal((3, 4)).astype(np.float32)


def arithmetic(z, w, x):
    return {
        "sum": z + w * x - 2,
        "quotient": z / w,
        "of_real": x / z,
        "size": jnp.abs(z),
        "angle": jnp.angle(z),
        "conjugate": jnp.conj(z) - z.real + z.imag,
        "sign": jnp.sign(z),
        "equal": z == w.at[1].set(z[1]),
        "unequal": z != z.T.T,
        "less": z < w,
        "finite": jnp.isfinite(z / 0),
        "joined": lax.complex(x, z.imag),
        "converted": (x.astype(jnp.complex64), (x > 0).astype(jnp.complex64)),
        "constant": z + np.array([1 + 2j, 3, -1j, 0], np.complex64),
        "iota": lax.iota(jnp.complex64, 4) * z,
        "equal_number": z + (2 - 3j),
        "product_of_conjugates": jnp.real(z * jnp.conj(z)),
    }


def functions(z, w, x):
    del x
    names = "exp expm1 log log1p sqrt rsqrt sin cos tan tanh sinh cosh asin acos atan asinh acosh"
    results = {name: getattr(lax, name)(z) for name in (names + " atanh logistic").split()}
    powers = {"power": z**w, "cubed": z**3, "root": z**0.5, "square": lax.square(z)}
    return results | powers | {"logaddexp": jnp.logaddexp(z, w), "sinc": jnp.sinc(z)}


def moved(z, w, x):
    i = jnp.array([2, 0, 1])
    return {
        "structure": jnp.concatenate([z.T[:, ::-1], jnp.pad(w.T, 1)[1:-1, :3]], axis=1),
        "select": jnp.where(x > 0, z, w),
        "gather": z[i, i],
        "scattered": z.at[i].add(w).at[0, 1].set(3j),
        "slice": lax.dynamic_slice(z, (i[0], i[1]), (1, 3)),
        "updated": lax.dynamic_update_slice(z, w[:1], (i[2], 0)),
        "barrier": lax.optimization_barrier((z, x)),
        "applied": jnp.stack([z, w]).reshape(2, 12).T,
        "tile": jnp.tile(z, (2, 1)) + jnp.zeros((6, 4), jnp.complex64),
    }


def reduced(z, w, x):
    return {
        "sum": z.sum(0),
        "mean": z.mean(),
        "product": z.prod(1),
        "cumsum": jnp.cumsum(z, 1),
        "cumprod": jnp.cumprod(z, 0),
        "variance": jnp.var(z),
        "norm": jnp.linalg.norm(z),
        "sorted": jnp.sort(z.at[1].set(z[0].real), 0),
        "argmax": jnp.argmax(jnp.abs(z)),
        "any": jnp.any(z != 0),
        "matmul": z @ w.T,
        "real_matmul": z @ x.T,
        "einsum": jnp.einsum("ij,kj,ij->ki", z, w, z),
        "vdot": jnp.vdot(z, w),
        "trace": jnp.trace(z @ w.T),
        "convolved": jnp.convolve(z[0], w[0]),
    }


def controlled(z, w, x):
    def step(carry, row):
        return carry * row + w[0], (jnp.abs(carry), carry)

    final, stacked = lax.scan(step, z[0], z)
    looped = lax.fori_loop(0, 3, lambda i, c: c / (1 + w[i]), z[0])
    branch = lax.cond(x[0, 0] > 0, lambda a: a * 1j, lambda a: a.conj(), z)
    states = lax.associative_scan(lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]), (z, w))
    return final, stacked, looped, branch, states, jax.jit(lambda a: a * a)(z)


PROGRAMS = [arithmetic, functions, moved, reduced, controlled]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_values(program):
    compare_with_jax(program, Z, W, X)


def test_values_of_128_bits():
    with jax.enable_x64(True):
        z, w = (numbers(3, 4, dtype=np.complex128) for _ in range(2))
        compare_with_jax(arithmetic, z, w, z.real)
        # XLA's own tangents are a few units off in the last place.
        compare_with_jax(lambda z, w: (jnp.exp(z), jnp.log(w), jnp.sqrt(z), z / w), z, w)


def test_gradients():
    def loss(z, w, x):
        y = jnp.tanh(z * x) @ jnp.conj(w).T
        return jnp.sum(jnp.abs(y) ** 2) + jnp.log(z).imag.sum()

    compare_with_jax(jax.grad(loss, argnums=(0, 1)), Z, W, X)


LIMITS = [0.0, -0.0, 1.0, -2.0, 3e38, -3e38, 1e-30, 2e-38, np.inf, -np.inf]


def test_ends_of_the_range():
    """Sizes and quotients are finite where the result is; zeros keep their branch."""
    z = np.array([complex(a, b) for a in LIMITS[:8] for b in LIMITS[:8]], np.complex64)
    large = np.array([complex(a, b) for a in LIMITS for b in LIMITS], np.complex64)
    safe = z[np.abs(z) >= 1e-30]
    program = lambda z, large, safe: {
        "size": jnp.abs(large),
        "signed_log": jnp.log(safe),
        "signed_sqrt": jnp.sqrt(z),
        "quotient": safe / (safe * np.complex64(1 + 0.5j)),
        "by_zero": jnp.isfinite(jnp.abs(safe[:4] / np.complex64(0))),  # inf, of JAX 0.12 NaN
        "tanh": jnp.tanh(safe.at[:].set(lax.complex(jnp.clip(safe.real, -100, 100), safe.imag % 3))),
    }
    compare_with_jax(program, z, large, safe)


def spectra(x, z):
    return {
        "fft": jnp.fft.fft(z),
        "ifft": jnp.fft.ifft(z, axis=0),
        "fft2": jnp.fft.fft2(z),
        "ifftn": jnp.fft.ifftn(z),
        "fftn": jnp.fft.fftn(z),
        "rfft": jnp.fft.rfft(x),
        "rfft2": jnp.fft.rfft2(x),
        "rfftn": jnp.fft.rfftn(x),
        "irfft": jnp.fft.irfft(z),
        "odd": jnp.fft.irfft(z, 7, axis=1),
        "irfftn": jnp.fft.irfftn(z, (3, 5, 6)),
        "padded": jnp.fft.fft(z, 11),
        "shifted": jnp.fft.fftshift(jnp.fft.fft(x)),
        "hermitian": jnp.fft.hfft(z),
    }


def test_fourier_transforms():
    """Of even, odd and prime lengths, along one dimension and along three."""
    compare_with_jax(spectra, RNG.standard_normal((3, 5, 4)).astype(np.float32), numbers(3, 5, 4))


def test_fourier_transforms_of_64_bits():
    with jax.enable_x64(True):
        compare_with_jax(spectra, RNG.standard_normal((3, 5, 4)), numbers(3, 5, 4, dtype=complex))


def test_gradients_of_fourier_transforms():
    def loss(x, z):
        filtered = jnp.fft.irfft(jnp.fft.rfft(x) * z[:, :3], 4)
        return jnp.sum(filtered**3) + jnp.abs(jnp.fft.fft2(z)).sum() + jnp.fft.ifft(z).real.max()

    compare_with_jax(jax.grad(loss, argnums=(0, 1)), X, Z)


def test_program_keeps_its_module():
    """The import changes nothing that JAX compiles later."""
    lowered = jax.jit(lambda z: jnp.exp(z) * z).lower(Z)
    before = lowered.as_text()
    shoal.jax.import_stablehlo(lowered)
    assert lowered.as_text() == before


def test_real_programs_are_not_touched():
    text = shoal.jax.import_stablehlo(jax.jit(lambda x: x * 2).lower(X))
    assert "shoal.complex" not in text


def test_halves_that_are_zero_are_not_multiplied():
    text = shoal.jax.import_stablehlo(jax.jit(lambda z, x: z @ x.T.astype(z.dtype)).lower(Z, X))
    assert text.count('"shoal.einsum"') == 2


def test_exported_programs():
    exported = jax.export.export(jax.jit(lambda z: jnp.fft.fft(z) / 2j))(Z)
    text = shoal.jax.import_stablehlo(exported)
    assert "shoal.complex" in text and "shoal.fft" in text
