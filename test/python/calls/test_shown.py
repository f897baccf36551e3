# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What terminals, notebooks and users of JAX see of functions, programs and results."""

import importlib.util
import json
import pickle

import numpy as np
import pytest
from shoal_testing import TARGET

if importlib.util.find_spec("shoal._native") is None:
    pytest.skip("built without the Python module", allow_module_level=True)
if TARGET != "cpu":
    pytest.skip("pools run programs for CPUs", allow_module_level=True)

import shoal
from shoal import InputError, P
from shoal.devices import Devices

MESH = shoal.Mesh(x=4)
A = np.ones((16, 32), np.float32)
W = np.ones((32, 64), np.float32)


@shoal.jit(mesh=MESH, in_shardings=(P("x"), P(None, "x")), out_shardings=(P("x"), P()))
def layer(a, w):
    y = a @ w
    return y, y.sum()


@pytest.fixture(scope="module")
def exe():
    return layer.executable_for(A, W)


def test_stats_print_as_a_table(exe):
    lines = str(exe.stats).splitlines()
    assert lines[0].split() == ["devices", "4"]
    assert any(line.startswith("bytes sent per device") and "all_gather 6,144" in line for line in lines)
    assert "<td" in exe.stats._repr_html_()
    assert layer.stats is exe.stats
    assert json.loads(json.dumps(exe.stats)) == exe.stats == pickle.loads(pickle.dumps(exe.stats))
    with pytest.raises(InputError, match="has no program yet"):
        shoal.jit(lambda x: x).stats  # noqa: B018


def test_a_program_shows_itself(exe, tmp_path):
    summary = exe.summary()
    assert summary.startswith("program layer: 4 devices\n  input a : tensor<16x32xf32>") and "all_gather" in summary
    page = exe.report()
    assert page.startswith("<!") and page._repr_html_().startswith('<iframe srcdoc="&lt;!')
    assert exe.report(tmp_path / "page.html") == tmp_path / "page.html"
    assert (tmp_path / "page.html").read_text() == page
    shown = exe._repr_html_()
    assert "layer on 4 devices" in shown and "float32[16, 32], on a device [4, 32]" in shown


def test_a_lowered_call_is_that_program(exe):
    lowered = layer.lower(A, W)
    assert "func.func @layer" in lowered.as_text() and lowered.compile() is exe
    assert repr(lowered) == "<Lowered <layer> for 4 devices>"


def test_results_are_read_as_those_of_jax():
    y, total = layer(A, W)
    assert repr(total) == "<Array float32[] <@mesh, []> 32768.0 on 4 devices>"
    assert repr(y) == '<Array float32[16, 64] <@mesh, [{"x"}, {}]> on 4 devices>'
    assert isinstance(y.devices, Devices) and y.devices() == {0, 1, 2, 3}
    assert y.sharding == '<@mesh, [{"x"}, {}]>'
    assert (repr(y.sharding.spec), y.sharding.mesh) == ("P('x', None)", MESH)
    assert pickle.loads(pickle.dumps(y.sharding)) == y.sharding
    assert y.is_fully_addressable
    for shard in y.addressable_shards:
        np.testing.assert_array_equal(shard.data, np.full((4, 64), 32))
        assert shard.index == (slice(4 * shard.device, 4 * shard.device + 4), slice(0, 64))


def test_specs_of_jax_are_taken():
    spec = pytest.importorskip("jax.sharding").PartitionSpec
    state = {"w": W, "b": W[0]}

    def step(state, x):
        return {name: shoal.constrain(w + x, spec("x")) for name, w in state.items()}, x

    jitted = shoal.jit(step, mesh=MESH, in_shardings=({"w": spec(None, "x"), "b": spec()}, None),
                       out_shardings=({"w": spec("x", spec.UNCONSTRAINED), "b": None}, spec()))  # fmt: skip
    made, _ = jitted(state, np.float32(1))
    assert made["w"].placement.local_shape[0] == 8
    np.testing.assert_array_equal(made["w"], W + 1)
    batches = shoal.data.Batches(np.arange(32, dtype=np.float32), 8, mesh=MESH, sharding=spec("x"))
    assert batches[0].placement.local_shape == (2,)
    with pytest.raises(shoal.TraceError, match=r'argument "x": axis "z" is not one of'):
        shoal.jit(lambda x: x, mesh=MESH, in_shardings=spec("z"))(W)
