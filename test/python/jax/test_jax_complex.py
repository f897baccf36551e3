# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiled programs with complex arguments and results, on several devices."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from paths import PATHS

pytest.importorskip("jax")
if importlib.util.find_spec("shoal._native") is None:
    pytest.skip("built without the Python module", allow_module_level=True)

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from jax_import_testing import auto_mesh

import shoal
import shoal.jax
from shoal import CompileError, InputError
from shoal.executable.launch import environment, mpirun

MESH = auto_mesh((2, 2), ("x", "y"))
RNG = np.random.default_rng(5)


def numbers(*shape, dtype=np.complex64):
    return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(dtype)


def reals(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def split(*axes):
    return NamedSharding(MESH, P(*axes))


def check(function, *arguments, tolerance=2e-5, **options):
    compiled = shoal.jax.compile(function, *arguments, mesh=MESH, **options)
    results, expected = compiled.run(*arguments), function(*arguments)
    assert jax.tree.structure(results) == jax.tree.structure(expected)
    for got, wanted in zip(jax.tree.leaves(results), jax.tree.leaves(expected)):
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        scale = max(np.max(np.abs(wanted)), 1e-30)
        assert np.max(np.abs(got - wanted)) <= tolerance * scale
    return compiled


def test_arguments_and_results():
    compiled = check(
        lambda z, s, x: {"product": z * s, "size": jnp.abs(z), "sum": z.sum(), "real": x + s.real},
        *(numbers(8, 6), np.complex64(1 - 2j), reals(8, 6)),
        in_shardings=(split("x", "y"), None, split("x")),
        out_shardings={"product": split("x"), "size": None, "sum": None, "real": None},
    )
    z, s, _ = compiled.executable.inputs
    assert (z.shape, z.local_shape, z.dtype) == ((8, 6), (4, 3), np.complex64)
    assert z.sharding.endswith('[{"x"}, {"y"}, {}]>') and s.shape == ()
    (product,) = (t for t in compiled.executable.outputs if t.name == "result.product")
    assert (product.local_shape, product.dtype) == ((4, 6), np.complex64)
    assert compiled.run(numbers(8, 6), 1j, reals(8, 6))["product"].dtype == np.complex64


TWO_DEVICES = "--xla_force_host_platform_device_count=2"
IN_A_MESH = """
import jax, jax.numpy as jnp, numpy as np, shoal.jax
from jax.sharding import NamedSharding, PartitionSpec as P

def function(x):
    total, outer = jnp.sum(x), jnp.outer(x[:4].real, x[:4].real)
    quotient = jnp.vdot(x, x) / total
    return total * jnp.complex64(2 + 1j), quotient, jnp.abs(total), jnp.tanh(x), jnp.linalg.cholesky(jnp.eye(4) + outer)

mesh = jax.make_mesh((2,), ("d",))
x = np.exp(1j * np.arange(8)).astype(np.complex64)
expected = jax.jit(function)(x)
with jax.set_mesh(mesh):
    exe = shoal.jax.compile(function, x, in_shardings=NamedSharding(mesh, P("d")), mesh=mesh)
for found, wanted in zip(exe.run(x), expected, strict=True):
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-5)
"""


def test_formulas_where_a_mesh_is_set():
    """The module that a formula is lowered to has the mesh, too."""
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS), "XLA_FLAGS": TWO_DEVICES}
    subprocess.run([sys.executable, "-c", IN_A_MESH], env=variables, check=True, timeout=120)


def test_wrong_arguments():
    compiled = shoal.jax.compile(lambda z: z * 2, numbers(4, 2), mesh=MESH)
    with pytest.raises(InputError, match="expected complex64 but got float32"):
        compiled.run(reals(4, 2))
    with pytest.raises(InputError, match=r"expected shape \[4, 2\] but got \[4, 2, 2\]"):
        compiled.run(numbers(4, 2, 2))
    with pytest.raises(InputError, match="expected complex64 but got complex128"):
        compiled.run(numbers(4, 2, dtype=complex))


def test_halves_are_never_split():
    """Whatever the search finds for arguments that nobody annotated."""
    compiled = check(lambda z, w: z @ w, numbers(4, 8), numbers(8, 4))
    for tensor in (*compiled.executable.inputs, *compiled.executable.outputs):
        assert tensor.sharding in ("",) or tensor.sharding.endswith("{}]>")


def test_donated_arguments():
    """A result that is no argument's memory holds intermediate values, so it is as large."""

    def step(z, g):
        return z - 0.5 * g

    arguments, shardings = (numbers(64, 64), numbers(64, 64)), (split("x"), split("x"))
    options = {"in_shardings": shardings, "out_shardings": split("x")}
    kept = check(step, *arguments, **options).stats["peak_bytes_per_device"]
    compiled = check(step, *arguments, donate_argnums=0, **options)
    assert compiled.stats["peak_bytes_per_device"] <= kept
    assert "shoal.donated" in compiled.text


def test_saved_programs(tmp_path):
    z = numbers(4, 4)
    compiled = shoal.jax.compile(lambda z: jnp.fft.fft(z), z, in_shardings=split("x"), mesh=MESH)
    compiled.save(tmp_path / "program.shoal")
    loaded = shoal.load(tmp_path / "program.shoal")
    np.testing.assert_allclose(loaded.run((z,)), np.fft.fft(z), rtol=1e-5, atol=1e-5)


def test_files_are_those_of_numpy(tmp_path):
    compiled = shoal.jax.compile(
        lambda z: (z * 2j, jnp.abs(z)), numbers(4, 3), in_shardings=split("x", None), mesh=MESH
    )
    z = numbers(4, 3)
    np.save(tmp_path / "z.npy", z)
    flags = ["--input", f"z={tmp_path / 'z.npy'}", "--output-dir", str(tmp_path / "out")]
    mpirun(4, compiled.executable.program, flags, timeout=60)
    doubled = np.load(tmp_path / "out/result.0.npy")
    assert doubled.dtype == np.complex64
    np.testing.assert_allclose(doubled, z * 2j, rtol=1e-6)


RANK = """
import sys
import numpy as np
from mpi4py import MPI
import shoal
z = np.load(sys.argv[2])
with shoal.load(sys.argv[1]).open(MPI.COMM_WORLD) as session:
    (shard,), (out,) = session.inputs, session.outputs
    own = np.ascontiguousarray(z[shard.slices])
    for given in (z, own):
        made = session.run([given])
        assert made.dtype == z.dtype and made.shape == out.shape, (made.dtype, made.shape)
        np.testing.assert_allclose(made, np.fft.fft2(z)[out.slices], rtol=1e-4, atol=1e-4)
"""


def test_sessions(tmp_path):
    """A rank gives the whole or its shard."""
    z = numbers(8, 6)
    shardings = {"in_shardings": split("x"), "out_shardings": split("y")}
    compiled = shoal.jax.compile(jnp.fft.fft2, z, mesh=MESH, **shardings)
    compiled.save(tmp_path / "program.shoal")
    np.save(tmp_path / "z.npy", z)
    (tmp_path / "rank.py").write_text(RANK)
    words = [sys.executable, tmp_path / "rank.py", tmp_path / "program.shoal", tmp_path / "z.npy"]
    path = str(Path(shoal.__file__).parent.parent)
    done = subprocess.run(
        ["mpirun", "-n", "4", *words],
        capture_output=True,
        text=True,
        env={**environment(4), "PYTHONPATH": path},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_fourier_transforms_of_split_dimensions():
    def program(z, x):
        return jnp.fft.fft(z), jnp.fft.ifft2(z), jnp.fft.rfft2(x), jnp.fft.irfft(z, 7, axis=0)

    arguments = numbers(4, 6), reals(4, 6)
    for sharding in (split("x"), split(None, "y"), split("x", "y"), split(("x", "y"))):
        check(program, *arguments, in_shardings=(sharding, sharding))


@pytest.mark.parametrize("length", [1, 2, 8, 60, 61, 67, 97, 134, 1000, 1009])
def test_lengths(length):
    z, x = numbers(4, length), reals(length, 4)
    check(
        lambda z, x: (
            jnp.fft.fft(z),
            jnp.fft.ifft(z),
            jnp.fft.irfft(jnp.fft.rfft(x, axis=0), length, axis=0),
        ),
        *(z, x),
        tolerance=1e-6,
        in_shardings=(split("x"), split(None, "x")),
    )


def test_a_matrix_is_never_gathered_for_its_transform():
    z = numbers(64, 64)
    compiled = check(
        jnp.fft.fft2, z, in_shardings=split(("x", "y")), out_shardings=split(None, ("x", "y"))
    )
    text = compiled.spmd()
    assert "all_gather" not in text and "shoal.fft" in text
    shard = 64 * 64 * 8 // 4
    assert compiled.stats["bytes_sent_per_device"] == {"all_to_all": shard * 3 // 4}


def test_manual_regions():
    def local(z):
        total = lax.psum(z, "x")
        turned = lax.ppermute(z, "x", [(0, 1), (1, 0)])
        return total * turned, lax.all_gather(z.conj(), "x", tiled=True).sum(0)

    specs = {"in_specs": P("x"), "out_specs": (P("x"), P())}
    program = jax.shard_map(local, mesh=MESH, check_vma=False, **specs)
    z = numbers(4, 3)
    compiled = shoal.jax.compile(program, z, mesh=MESH)
    product, total = compiled.run(z)
    halves = z[:2] + z[2:]
    np.testing.assert_allclose(product, np.concatenate([halves * z[2:], halves * z[:2]]), rtol=1e-5)
    np.testing.assert_allclose(total, z.conj().sum(0), rtol=1e-5)


def test_fnet_train_step():
    """Mixing by a transform over tokens and features (Lee-Thorp et al. 2021)."""

    def block(p, x):
        x = x + jnp.fft.fft2(x).real
        return x + jax.nn.gelu(x @ p["up"]) @ p["down"]

    def step(p, x, y):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((block(p, x) - y) ** 2))(p)
        return jax.tree.map(lambda a, g: a - 1e-3 * g, p, grads), loss

    p = {"up": reals(8, 16) / 4, "down": reals(16, 8) / 4}
    x, y = reals(4, 16, 8) / 8, reals(4, 16, 8)
    weights = {"up": split(None, "y"), "down": split("y")}
    for rows in (split("x"), split(None, "x")):
        check(step, p, x, y, in_shardings=(weights, rows, rows))


def test_diagonal_state_space_train_step():
    """S5: complex diagonal transitions, by an associative scan (Smith et al. 2023)."""

    def layer(p, u):
        a = jnp.exp(p["a"] * jnp.exp(p["step"]))
        states = (u @ p["b"]) * (a - 1) / p["a"]
        steps = jnp.broadcast_to(a, states.shape)
        combine = lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1])
        _, x = lax.associative_scan(combine, (steps, states), axis=1)
        return 2 * (x @ p["c"]).real

    def step(p, u, y):
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((layer(p, u) - y) ** 2))(p)
        return jax.tree.map(lambda a, g: a - 1e-2 * g.conj(), p, grads), loss

    p = {
        "a": -0.5 + 1j * np.arange(6, dtype=np.float32) + numbers(6) / 10,
        "b": numbers(4, 6),
        "c": numbers(6, 4),
        "step": reals(6) / 4,
    }
    u, y = reals(4, 12, 4), reals(4, 12, 4)
    check(step, p, u, y, in_shardings=(None, split("x"), split("x")), tolerance=1e-4)


def test_long_convolution_by_transforms():
    """S4's kernel of a diagonal state, and its product in the frequency domain."""

    def layer(log_a, c, u):
        n = u.shape[1]
        powers = jnp.exp(-jnp.exp(log_a)[:, None] * jnp.arange(n))
        kernel = 2 * (c @ powers).real
        spectrum = jnp.fft.rfft(u, 2 * n) * jnp.fft.rfft(kernel, 2 * n)
        return jnp.fft.irfft(spectrum, 2 * n)[:, :n]

    arguments = numbers(5) / 4, numbers(4, 5), reals(4, 16)
    check(layer, *arguments, in_shardings=(None, None, split("x")))
    check(jax.grad(lambda a, c, u: (layer(a, c, u) ** 2).sum(), argnums=(0, 1)), *arguments)


def test_gpus_have_no_transforms():
    with pytest.raises(CompileError, match="programs for CUDA cannot call rt.fft: cuFFT is not linked"):
        shoal.jax.compile(jnp.fft.fft, numbers(4, 4), mesh=MESH, target="cuda")
