# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Complex numbers and Fourier transforms."""

import jax
import jax.numpy as jnp
from catalogue import P, on_devices, program


@program("x=2 y=4", "c64[8@x,16] c64[8,16@y] c64[]")
def complex_arithmetic(z, w, s):
    """Also of halves that are 0, and back to real numbers."""
    return z * jnp.conj(w) / (w + 2.5), jnp.abs(z), jnp.angle(w), s * z.real + w.imag * 1j


@program("x=8", "c64[16@x,6]")
def complex_functions(z):
    return jnp.exp(z), jnp.log(z), jnp.sqrt(z), jnp.tanh(z), jnp.sin(z) ** (0.5 + 1j)


@program("x=2 y=4", "c64[8@x,16@y] c64[16@y,12]", out=P("x", None))
def complex_matmul_contracting(z, w):
    return z @ w


@program("x=2 y=4", "c64[8,16@x+y] c64[16@x+y,12]", out=P())
def complex_einsum_contracting_two_axes(z, w):
    """Sums over both axes are added up once."""
    return jnp.einsum("ik,kj->ij", z, w)


@program("x=8", "c64[16@x,6] i32[5]<16")
def complex_reductions_and_lookups(z, i):
    return z.sum(0), z.prod(1), jnp.cumsum(z, 0), z[i], z.at[i].add(1j), jnp.sort(z, 0)


@program("x=2 y=4", "c128[8@x,16@y] f64[8,16@y]", x64=True)
def complex_of_128_bits(z, x):
    return jnp.exp(z * 1j) @ x.T, jnp.fft.fft(z), jnp.fft.irfft(jnp.fft.rfft(x))


@program("x=8", "c64[16@x,30]", out=P("x", None))
def fft_of_split_batches(z):
    return jnp.fft.ifft(jnp.fft.fft(z) * 1j)


@program("x=8", "c64[16,24@x]", out=P(None, "x"))
def fft_of_split_lines(z):
    return jnp.fft.fft(z)


@program("x=8", "c64[32@x,16]", out=P(None, "x"))
def fft_of_a_matrix(z):
    return jnp.fft.fft2(z)


@program("x=2 y=4", "f32[4@x,8@y,6]", out=P("x", "y", None))
def rfft_of_volumes(x):
    spectrum = jnp.fft.rfftn(x)
    return jnp.fft.irfftn(spectrum * jnp.abs(spectrum), x.shape)


def _mixed_on_devices(z, w):
    """A product along manual axes, its sum, and a transform that turns lines around."""

    def manual(z, w):
        total = jax.lax.psum(z @ w, "y")
        lines = jax.lax.all_to_all(total, "x", 1, 0, tiled=True)
        return jax.lax.all_to_all(jnp.fft.fft(lines, axis=0), "x", 0, 1, tiled=True)

    whole = lambda z, w: jnp.fft.fft(z @ w, axis=0)
    return on_devices(manual, whole, (P("x", "y"), P("y", None)), P("x"))(z, w)


@program("x=2 y=4", "c64[8@x,16@y] c64[16@y,6]")
def complex_in_manual_regions(z, w):
    return _mixed_on_devices(z, w) * 2j


@program("x=2 y=4", "c64[8@x,16@y] c64[16@y,6]", gspmd=True)
def complex_in_manual_regions_by_gspmd(z, w):
    return _mixed_on_devices(z, w) * 2j


@program("data=2 model=4", "f32[8@data,16,32] f32[32,64@model] f32[64@model,32]", tolerance=1e-4)
def fnet_gradient(x, wi, wo):
    """Tokens are mixed by a transform over tokens and features."""

    def loss(wi, wo):
        y = x + jnp.fft.fft2(x).real / 16
        return jnp.mean((y + jax.nn.gelu(y @ wi) @ wo) ** 2)

    return jax.grad(loss, argnums=(0, 1))(wi, wo)


@program("data=8", "c64[6] c64[4,6] c64[6,4] f32[8@data,16,4]", tolerance=1e-4)
def diagonal_state_space(a, b, c, u):
    """S5: complex diagonal transitions by an associative scan, and the gradient."""

    def layer(a, b, c):
        step = jnp.exp(-jnp.abs(a) + 1j * a.imag)
        states = u.astype(b.dtype) @ b
        steps = jnp.broadcast_to(step, states.shape)
        join = lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1])
        return 2 * (jax.lax.associative_scan(join, (steps, states), axis=1)[1] @ c).real

    return layer(a, b, c), jax.grad(lambda *p: (layer(*p) ** 2).mean(), argnums=(0, 1, 2))(a, b, c)


@program("x=8", "f32[16@x,12,7] c64[7,5,9]", tolerance=1e-4)
def spherical_harmonics(x, legendre):
    """Fourier modes of rings times associated polynomials, and back (as S2FFT)."""
    modes = jnp.fft.fft(x, axis=1)[:, :9]
    coefficients = jnp.einsum("bmr,rlm->blm", modes, legendre)
    rings = jnp.einsum("blm,rlm->bmr", coefficients, jnp.conj(legendre))
    return coefficients, jnp.fft.ifft(rings, 12, axis=1).real
