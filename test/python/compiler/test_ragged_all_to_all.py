# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows whose number only the program knows: values, gradients, executables, errors, JAX's."""

import time
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import NamedSharding

import shoal.jax
from frontend_testing import assert_same, evaluate, shoal
from jax_import_testing import run as run_imported
from shoal import P
from shoal.frontend.tracing import trace_program
from shoal.jax.locations import legal_name
from shoal_testing import load_json, load_results, mpirun, save_inputs, shoalc

COLUMNS = 3


@dataclass
class Case:
    """Lists [p, k p] of every device, and the rows that it has, and has room for."""

    begin: np.ndarray
    rows: np.ndarray
    to: np.ndarray
    come: np.ndarray
    x: np.ndarray
    output: np.ndarray

    @property
    def lists(self):
        return [a.ravel() for a in (self.begin, self.rows, self.to, self.come)]

    def moves(self):
        """(sender, row, receiver, row) of every row that is sent."""
        p, n = self.rows.shape
        for s, i in np.ndindex(p, n):
            for r in range(self.rows[s, i]):
                yield s, self.begin[s, i] + r, i // (n // p), self.to[s, i] + r

    def result(self, x, output):
        made = output.copy()
        for s, row, t, place in self.moves():
            made[t, place] = x[s, row]
        return made

    def gradients(self, g):
        """Of x and output, where g is that of the result."""
        of_x, of_output = np.zeros_like(self.x), g.copy()
        for s, row, t, place in self.moves():
            of_x[s, row], of_output[t, place] = g[t, place], 0
        return of_x, of_output


def draw(p, k, seed=0, dtype=np.int32):
    """Slices that share no rows; many have none, and some rows are not sent."""
    rng = np.random.default_rng(seed)
    n = p * k
    rows = rng.integers(0, 4, (p, n)) * rng.integers(0, 2, (p, n))
    gaps = rng.integers(0, 2, (p, n))
    begin = np.cumsum(rows + gaps, 1) - rows
    # Of device t, in the order of senders from the last one on.
    arriving = rows.reshape(p, p, k)[::-1].transpose(1, 0, 2).reshape(p, n)
    places = np.cumsum(arriving + gaps, 1) - arriving
    to = places.reshape(p, p, k).transpose(1, 0, 2)[::-1].reshape(p, n)
    come = rows.reshape(p, p, k).transpose(1, 0, 2).reshape(p, n)
    has, room = (int((a + r).max()) for a, r in ((begin, rows), (to, rows)))
    x, output = (rng.standard_normal((p, size, COLUMNS)).astype(np.float32) for size in (has, room))
    return Case(*(a.astype(dtype) for a in (begin, rows, to, come)), x, output)


def flat(array):
    return array.reshape(-1, COLUMNS)


def exchange(x, output, *lists):
    row = P("x")
    local = lambda *args: shoal.ragged_all_to_all(*args, "x")  # noqa: E731
    return shoal.manual(local, (row,) * 6, row, "x")(x, output, *lists)


@pytest.mark.parametrize("p, k, dtype", [(2, 1, np.int32), (3, 2, np.int64), (4, 3, np.int32)])
def test_values_and_gradients(tmp_path, p, k, dtype):
    case = draw(p, k, seed=p, dtype=dtype)
    g = np.random.default_rng(9).standard_normal(case.output.shape).astype(np.float32)

    def program(x, output, g, *lists):
        def loss(x, output):
            made = exchange(x, output, *lists)
            return shoal.sum(made * g), made

        return shoal.value_and_grad(loss, (0, 1), has_aux=True)(x, output)

    # Another axis splits what follows the rows.
    mesh = shoal.Mesh(x=p, y=2)
    (_, made), gradients = evaluate(
        tmp_path, program, flat(case.x), flat(case.output), flat(g), *case.lists, mesh=mesh, devices=2 * p
    )
    assert_same("rows", made, flat(case.result(case.x, case.output)))
    for name, actual, expected in zip("xo", gradients, case.gradients(g)):
        assert_same(f"gradient of {name}", actual, flat(expected))


def write_executable(tmp_path, case, mesh):
    program = trace_program(exchange, (flat(case.x), flat(case.output), *case.lists), mesh)
    source = tmp_path / "program.mlir"
    source.write_text(program.text)
    shoalc(source, tmp_path / "program").expect_success()
    return program


def run_executable(tmp_path, program, case, devices):
    arrays = [flat(case.x), flat(case.output), *case.lists]
    flags = save_inputs(tmp_path, dict(zip(program.inputs, arrays)))
    flags += ["--output-dir", tmp_path / "out", "--stats", tmp_path / "stats.json"]
    return mpirun(devices, tmp_path / "program", *flags)


def test_executable_and_its_errors(tmp_path):
    """No rank hangs, and nothing is written outside: the job ends with the rank, line and sizes."""
    case = draw(4, 2, seed=5)
    program = write_executable(tmp_path, case, shoal.Mesh(x=4))
    run_executable(tmp_path, program, case, 4).expect_success()
    (made,) = load_results(tmp_path / "out", program.outputs).values()
    assert_same("rows", made, flat(case.result(case.x, case.output)))
    travels = np.zeros((2, 4), int)
    for sender, _, target, _ in case.moves():
        if sender != target:
            travels[0, sender] += 1
            travels[1, target] += 1
    sent = load_json(tmp_path / "stats.json")["bytes_sent_per_device"]
    assert sent["ragged_all_to_all"] == travels.max() * COLUMNS * 4, (sent, travels)

    has, room = case.x.shape[1], case.output.shape[1]
    s, i = np.argwhere(case.rows > 0)[0]
    one = f"send_sizes[{i}] {case.rows[s, i]}: these are not rows of the"
    wrong = {
        "begin": (has, f"rank {s}: input_offsets[{i}] {has}, {one} {has} of the input"),
        "to": (room, f"rank {s}: output_offsets[{i}] {room}, {one} {room} of the output"),
        "rows": (-1, f"rank {s}: input_offsets[{i}] {case.begin[s, i]}, send_sizes[{i}] -1: these are not"),
        "come": (10**9, "recv_sizes["),
    }
    for field, (value, message) in wrong.items():
        bad = draw(4, 2, seed=5)
        place = (s, i) if field != "come" else (i // 2, s * 2 + i % 2)
        getattr(bad, field)[place] = value
        start = time.monotonic()
        ended = run_executable(tmp_path, program, bad, 4)
        assert ended.code != 0 and time.monotonic() - start < 30
        assert 'error: ragged_all_to_all over {"x"} at ' in ended.stderr, ended.stderr
        assert "test_ragged_all_to_all.py:" in ended.stderr and message in ended.stderr, ended.stderr


def test_rows_that_are_sent_twice(tmp_path):
    lists = [np.array(a, np.int32) for a in ([0, 0] * 2, [1, 1] * 2, [0, 0] * 2, [1, 1] * 2)]
    rows = np.ones((4, COLUMNS), np.float32)
    case = Case(*(a.reshape(2, 2) for a in lists), rows.reshape(2, 2, -1), rows.reshape(2, 2, -1))
    program = write_executable(tmp_path, case, shoal.Mesh(x=2))
    ended = run_executable(tmp_path, program, case, 2)
    message = "row 0 of the output is sent by device 0 of the group and by device 1 of the group"
    assert ended.code != 0 and message in ended.stderr, ended.stderr


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda x, o, i: (x, o[:, :2], i, i, i, i), "rows of [2, 3] do not go to rows of [4, 2]"),
        (lambda x, o, i: (x, o.astype("int32"), i, i, i, i), "rows of float32 go to rows of int32"),
        (lambda x, o, i: (x, o, i, i.astype("int64"), i, i), "offsets and sizes are int32[2], int64[2]"),
        (lambda x, o, i: (x, o, i[:1], i[:1], i[:1], i[:1]), "[1] offsets and sizes are not the same number"),
        (lambda x, o, i: (x, o, *[i.astype("float32")] * 4), "are int32 or int64 but not float32"),
    ],
)
def test_what_cannot_be_traced(change, message):
    def program(x, output, i):
        local = lambda *args: shoal.ragged_all_to_all(*change(*args), "x")  # noqa: E731
        return shoal.manual(local, (P("x"), P("x"), P("x")), P("x"), "x")(x, output, i)

    arrays = (np.ones((4, 3), np.float32), np.ones((8, 3), np.float32), np.zeros(4, np.int32))
    with pytest.raises(shoal.TraceError) as raised:
        trace_program(program, arrays, shoal.Mesh(x=2))
    assert message in str(raised.value)


def test_jax_and_its_gradient():
    """XLA has it for no CPU: both are compared with what they mean."""
    case, p = draw(3, 2, seed=8), 3
    mesh = jax.sharding.AbstractMesh((p,), ("x",))
    rows = jax.sharding.PartitionSpec("x")

    def local(*args):
        return jax.lax.ragged_all_to_all(*args, axis_name="x")

    exchanged = jax.shard_map(local, mesh=mesh, in_specs=(rows,) * 6, out_specs=rows, check_vma=False)

    def program(x, output, begin, rows, to, come, g):
        def loss(x):
            made = exchanged(x, output, begin, rows, to, come)
            return jnp.sum(made * g), made

        return jax.value_and_grad(loss, has_aux=True)(x)

    g = np.random.default_rng(9).standard_normal(case.output.shape).astype(np.float32)
    names = ("x", "output", "begin", "rows", "to", "come", "g")
    arrays = dict(zip(names, (flat(case.x), flat(case.output), *case.lists, flat(g))))
    place = NamedSharding(mesh, rows)
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=place) for a in arrays.values()]
    lowered = jax.jit(program, keep_unused=True).trace(*shapes).lower(lowering_platforms=("cpu",))
    text = shoal.jax.import_stablehlo(lowered)
    assert text.count("spmd.ragged_all_to_all") == 2
    made, of_x = (legal_name(f"result{path}") for path in ("[0][1]", "[1]"))
    results = run_imported(text, arrays, [made, of_x])
    assert_same("rows", results[made], flat(case.result(case.x, case.output)))
    assert_same("gradient", results[of_x], flat(case.gradients(g)[0]))
