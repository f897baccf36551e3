# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program holds in memory is what its compiler said."""

import importlib.util

import numpy as np
import pytest

import shoal
from shoal_testing import TARGET, load_json, mpirun

if TARGET != "cpu":
    pytest.skip("resident memory is the host's", allow_module_level=True)
if importlib.util.find_spec("shoal._native") is None:
    pytest.skip("built without the Python module", allow_module_level=True)

from memory_programs import DEVICES, PROGRAMS

# docs/internals/Memory.md: the code, MPI with its shared memory, and BLAS or oneDNN.
PROCESS_BYTES = 26 << 20


def run(exe, folder, *flags):
    """The executable's statistics."""
    stats = folder / "stats.json"
    ended = mpirun(
        DEVICES, exe.program, "--random-inputs=1", "--repeat=2", "--stats", stats, *flags
    )
    ended.expect_success()
    return load_json(stats)


@pytest.mark.parametrize("name", PROGRAMS)
def test_resident_memory(name, tmp_path):
    if name.startswith("moe"):
        pytest.importorskip("jax")
    exe = PROGRAMS[name]()
    measured = run(exe, tmp_path)
    promised = exe.stats["peak_bytes_per_device"]
    print(f"{name}: {promised} promised, {measured['resident_bytes_per_process']} resident")
    assert measured["peak_bytes_per_device"] == promised
    assert measured["resident_bytes_per_process"] <= promised + PROCESS_BYTES
    # Nothing leaves its memory, nothing reads what was not written.
    run(exe, tmp_path, "--check-memory")


def test_what_is_stacked_is_made_in_the_stack(tmp_path):
    """Each product at its place in the result: the arena has none of them, and nothing is copied."""

    def stacked(x, weights):
        return shoal.stack([shoal.tanh(x @ weight) for weight in weights])

    random = np.random.default_rng(0)
    x = random.normal(size=(64, 32)).astype(np.float32)
    weights = [random.normal(size=(32, 256)).astype(np.float32) for _ in range(6)]
    exe = shoal.compile(stacked, (x, weights), shoal.Mesh(d=1))
    assert exe.stats["arena_bytes_per_device"] < x.nbytes
    expected = [np.tanh(x @ weight) for weight in weights]
    np.testing.assert_allclose(exe.run((x, weights)), expected, rtol=1e-4, atol=1e-5)
    mpirun(1, exe.program, "--random-inputs=1", "--check-memory").expect_success()


def test_limited_address_space(tmp_path):
    """Where BLAS finds no room for its buffer a rank says so and does not hang."""
    exe = PROGRAMS["product_of_f64"]()
    script = tmp_path / "limited"
    messages = []
    # MPI needs a part, BLAS 128 MiB: one of these leaves room for MPI alone.
    for limit in range(640_000, 300_000, -64_000):
        script.write_text(f'#!/bin/bash\nulimit -v {limit}\nexec {exe.program} "$@"\n')
        script.chmod(0o755)
        ended = mpirun(DEVICES, script, "--random-inputs=1")
        messages.append(ended.stderr)
        if "BLAS" in ended.stderr:
            break
    assert "not enough memory: the BLAS library needs 128.06 MiB" in messages[-1]
    assert f"limited to {limit / 1024:.2f} MiB (ulimit -v)" in messages[-1]
