# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""jax.debug.print, jax.debug.callback, io_callback and pure_callback in compiled programs."""

import importlib.util
import os

import numpy as np
import pytest

pytest.importorskip("jax")
if importlib.util.find_spec("shoal._native") is None:
    pytest.skip("built without the Python module", allow_module_level=True)
if os.environ.get("SHOAL_TEST_TARGET", "cpu") != "cpu":
    pytest.skip("programs for CUDA call no host", allow_module_level=True)

import jax
import jax.numpy as jnp
from jax.experimental import io_callback
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
from jax_import_testing import auto_mesh
from shoal_testing import run

import shoal
import shoal.jax

MESH = auto_mesh((4,), ("d",))
ROWS = NamedSharding(MESH, P("d"))
X = np.arange(32, dtype=np.float32).reshape(8, 4) / 4


def compiled(function, *example, shardings=(ROWS,)):
    return shoal.jax.compile(function, *(example or (X,)), in_shardings=shardings)


def printing(x):
    jax.debug.print("x = {}", x)
    jax.debug.print("sum {s:.3f} of {}, {name:>5}", x.shape[0], s=x.sum(), name="ab", ordered=True)

    def body(i, c):
        jax.debug.print("trip {}", i, ordered=True)
        return jax.lax.cond(i % 2 == 0, lambda c: (jax.debug.print("even {}", i), c + 1)[1], lambda c: c, c)

    y = jax.lax.fori_loop(0, 3, body, x)
    jax.debug.print("half {} {} {}", x[1, 1].astype(jnp.float16), x[1].astype(jnp.uint32), x[0] > 0)
    return y


def as_jax_prints(capfd, function, *arguments):
    """What JAX itself writes on one device."""
    capfd.readouterr()
    jax.block_until_ready(jax.jit(function)(*arguments))
    jax.effects_barrier()
    return capfd.readouterr().out


def in_program_order(text, ordered):
    """Lines of ordered prints alone: the others come when they come."""
    return [line for line in text.splitlines() if line.startswith(ordered)]


def test_prints_look_as_jaxs(capfd):
    """Line by line, as often and, where asked for, in the same order."""
    expected = as_jax_prints(capfd, printing, X)
    exe = compiled(printing)
    assert "host_call" not in exe.text
    result = exe.run(X)
    printed = capfd.readouterr().out
    assert np.array_equal(result, X + 2)
    assert sorted(printed.splitlines()) == sorted(expected.splitlines())
    assert in_program_order(printed, ("sum", "trip")) == in_program_order(expected, ("sum", "trip"))


def test_prints_need_no_python(tmp_path):
    """The executable file alone prints the same."""
    exe = compiled(printing)
    exe.save(tmp_path / "saved")
    loaded = shoal.load(tmp_path / "saved")
    out = run("mpirun", "-n", 4, loaded.program, "--random-inputs=1").stdout
    assert out.count("trip") == 3 and out.count("even") == 2 and out.count("x = [[") == 1


def test_every_device_prints_its_shard(capfd):
    def f(x):
        jax.debug.print("has {}", x[:, 0], partitioned=True)
        return x + 1

    exe = compiled(f)
    exe.run(X)
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == [f"has {X[i : i + 2, 0]}" for i in range(0, 8, 2)]
    assert "all_gather" not in exe.spmd()


def test_what_only_python_formats(capfd):
    """Forms that programs do not know are Python's."""

    def f(x):
        jax.debug.print("{x!r} {y:,}", x=x[0], y=x.sum().astype(int) * 10000)
        return x

    expected = as_jax_prints(capfd, f, X)
    exe = compiled(f)
    assert "shoal.host_call" in exe.text
    exe.run(X)
    assert capfd.readouterr().out == expected


def test_callbacks_get_whole_arrays_once():
    seen = []

    def f(x):
        jax.debug.callback(lambda a, *, b: seen.append((np.asarray(a), int(b))), x, b=x.sum().astype(int))
        return x * 2

    exe = compiled(f)
    assert "all_gather" in exe.spmd()
    exe.run(X)
    ((array, number),) = seen
    assert np.array_equal(array, X) and number == int(X.sum())


def test_callbacks_on_shards():
    seen = []

    def f(x):
        jax.debug.callback(lambda a: seen.append(np.asarray(a)), x, partitioned=True)
        return x * 2

    compiled(f).run(X)
    assert np.array_equal(sorted(map(np.ndarray.tolist, seen)), X.reshape(4, 2, 4))


def test_results_come_back_to_all():
    """Signs of zeros, NaN, integers and booleans included."""
    values = np.array([-0.0, 0.0, np.nan, -np.inf, 1e-40, 3.5, -2, 7], np.float32)

    def answer(x):
        return values, np.arange(8, dtype=np.uint32) - 1, values > 0, np.float16(1.5)

    types = (
        jax.ShapeDtypeStruct((8,), np.float32),
        jax.ShapeDtypeStruct((8,), np.uint32),
        jax.ShapeDtypeStruct((8,), np.bool_),
        jax.ShapeDtypeStruct((), np.float16),
    )
    for call in (jax.pure_callback, io_callback):
        exe = shoal.jax.compile(
            lambda x, call=call: call(answer, types, x), X, in_shardings=(ROWS,),
            out_shardings=(ROWS, None, ROWS, None),
        )  # fmt: skip
        for expected, actual in zip(answer(X), exe.run(X), strict=True):
            assert actual.dtype == np.asarray(expected).dtype
            assert np.asarray(actual).tobytes() == np.asarray(expected).tobytes()


def test_callbacks_in_order_in_loops():
    seen = []

    def count(i, x):
        seen.append((int(i), float(x)))
        return np.float32(x + 1)

    def f(x):
        def body(carry, i):
            y = io_callback(count, jax.ShapeDtypeStruct((), np.float32), i, carry, ordered=True)
            return y, y

        return jax.lax.scan(body, x.sum(), jnp.arange(5))

    last, all_ = compiled(f).run(X)
    begin = float(X.sum())
    assert seen == [(i, begin + i) for i in range(5)]
    assert last == begin + 5 and np.array_equal(all_, begin + 1 + np.arange(5, dtype=np.float32))


def test_equal_effects_stay_and_pure_calls_may_go():
    seen = []

    def noted(x):
        seen.append("io")
        return np.asarray(x)

    def pure(x):
        seen.append("pure")
        return np.asarray(x)

    def f(x):
        type = jax.ShapeDtypeStruct(x.shape, x.dtype)
        io_callback(noted, type, x)
        io_callback(noted, type, x)
        jax.pure_callback(pure, type, x)
        return x

    compiled(f).run(X)
    assert seen == ["io", "io"]


def test_an_exception_ends_the_run():
    def f(x):
        return io_callback(fails, jax.ShapeDtypeStruct(x.shape, x.dtype), x) + 1

    def fails(x):
        raise ValueError("too large:\n3 of 8")

    line = f.__code__.co_firstlineno + 1
    with pytest.raises(shoal.RunError, match=f'{__file__}:{line}:.*"fails": ValueError: too large: 3 of 8') as info:
        compiled(f).run(X)
    assert isinstance(info.value.__cause__, ValueError)


def test_a_result_of_another_type():
    def f(x):
        return io_callback(lambda x: np.zeros((2, 2), np.float32), jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    with pytest.raises(shoal.RunError, match=r"Incorrect output shape.*\(8, 4\), Actual: \(2, 2\)"):
        compiled(f).run(X)


def test_without_the_process_that_compiled(tmp_path):
    """An error before the first step, with the user's line."""

    def f(x):
        jax.debug.callback(print, x)
        return x

    exe = compiled(f)
    exe.save(tmp_path / "saved")
    line = f.__code__.co_firstlineno + 1
    place = f"{__file__}:{line}:"
    with pytest.raises(shoal.RunError, match=f'{place}.*"print" is a function of the process'):
        shoal.load(tmp_path / "saved").run((X,))
    failed = run("mpirun", "-n", 4, exe.executable.program, "--random-inputs=1")
    assert f"error: {place}" in failed.stderr and 'calls "print"' in failed.stderr


def test_programs_that_were_exported():
    def f(x):
        jax.debug.callback(print, x)
        return x

    with pytest.raises(shoal.UnsupportedError, match="its Python function is not in the program"):
        shoal.jax.import_stablehlo(jax.jit(f).lower(X))


def test_no_callbacks_on_gpus():
    with pytest.raises(shoal.CompileError, match="programs for CUDA neither print nor call"):
        shoal.jax.compile(printing, X, in_shardings=(ROWS,), target="cuda")


def test_inside_of_shard_map(capfd):
    def f(x):
        def local(s):
            jax.debug.print("sum {}", s.sum())
            return s * 2

        return jax.shard_map(local, mesh=MESH, in_specs=P("d"), out_specs=P("d"))(x)

    compiled(f).run(X)
    lines = capfd.readouterr().out.splitlines()
    assert sorted(lines) == sorted(f"sum {X[i : i + 2].sum()}" for i in range(0, 8, 2))


def test_derivatives_and_batches(capfd):
    def f(w, x):
        y = jnp.tanh(x @ w)
        jax.debug.print("y {}", y)
        return y

    def loss(w, x):
        return jax.vmap(f, (None, 0))(w, x).sum()

    w = np.ones(4, np.float32)
    expected = as_jax_prints(capfd, jax.grad(loss), w, X)
    compiled(jax.grad(loss), w, X, shardings=(None, ROWS)).run(w, X)
    printed = capfd.readouterr().out
    assert sorted(line[:9] for line in printed.splitlines()) == sorted(
        line[:9] for line in expected.splitlines()
    )


def test_errors_in_branches():
    """As equinox.error_if raises them."""

    def raises(_):
        raise RuntimeError("x must not be negative")

    def error_if(x, pred):
        type = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.lax.cond(
            pred.any(), lambda: jax.pure_callback(raises, type, np.int32(0)), lambda: x
        )

    def f(x):
        y = error_if(x, x < 0)
        return jnp.sqrt(y).sum()

    exe = compiled(f)
    np.testing.assert_allclose(exe.run(X), np.sqrt(X).sum(), rtol=1e-6)
    with pytest.raises(shoal.RunError, match='"raises": RuntimeError: x must not be negative'):
        exe.run(X - 1)


def test_many_results_of_many_runs():
    """Callbacks of several programs and runs do not mix."""

    def f(x, factor):
        return jax.pure_callback(
            lambda x: np.asarray(x) * factor, jax.ShapeDtypeStruct(x.shape, x.dtype), x
        )

    programs = [compiled(lambda x, factor=factor: f(x, factor)) for factor in (2, 3)]
    for factor, exe in zip((2, 3), programs):
        for _ in range(2):
            assert np.array_equal(exe.run(X), X * factor)


@pytest.mark.parametrize("call", [io_callback, jax.pure_callback])
def test_a_device_that_is_to_call_is_refused(call):
    """The first one of the mesh calls; JAX's own rule knows no devices of abstract meshes."""
    device = jax.sharding.SingleDeviceSharding(jax.devices()[0])

    def calls(x):
        return call(lambda v: v, jax.ShapeDtypeStruct(x.shape, x.dtype), x, sharding=device)

    text = r"^\S*test_jax_callbacks.py:\d+:\d+.*: callback <lambda> with sharding= is not supported"
    with pytest.raises(shoal.UnsupportedError, match=text):
        compiled(calls)
