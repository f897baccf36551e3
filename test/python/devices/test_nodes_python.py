# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several nodes from Python: a job under mpirun, and a pool. The nodes are namespaces of this machine."""

import os
import re
import sys
import time

import network_nodes
import pytest
from network_nodes import wait_until
from nodes_fixtures import folder, three  # noqa: F401
from paths import PATHS, ROOT, SUPPORT
from shoal_testing import TARGET

import shoal
from shoal.devices import meeting
from shoal.executable import launch

if TARGET != "cpu":
    pytest.skip("of CPUs' programs", allow_module_level=True)
if reason := network_nodes.why_not():
    pytest.skip(reason, allow_module_level=True)

# Networks are made, and seconds counted.
pytestmark = pytest.mark.alone

PAGE = ROOT / "docs/guide/Nodes.md"
PYTHON = {"PYTHONPATH": os.pathsep.join(PATHS), "SHOAL_CACHE": "off", "SHOAL_NUM_THREADS": "1"}


def train(nodes, at, places, folder, steps):
    """A job's digest, by rank 0's first line; all ranks print the same."""
    command = ("mpirun", "-n", 4, "--host", places, "-x", "PYTHONPATH", "-x", "SHOAL_CACHE")
    ended = nodes.run(at, *command, sys.executable, SUPPORT / "nodes_ranks.py", folder, steps, **PYTHON)
    assert ended.returncode == 0, ended.stderr
    lines = re.findall(r"from \d+ to \d+: \w+", ended.stdout)
    assert len(lines) == 4 and len(set(lines)) == 1, ended.stdout
    return lines[0]


def test_training_has_the_same_bits_on_any_nodes_and_goes_on_elsewhere(three, folder):
    one = train(three, "alpha", "alpha:4", folder / "one", 24)
    assert one.startswith("from 0 to 24: ")
    first = train(three, "alpha", "alpha:2,beta:1,gamma:1", folder / "moved", 10)
    assert first.startswith("from 0 to 10: ")
    # Other nodes, which have the folder of checkpoints.
    moved = train(three, "beta", "beta:1,gamma:3", folder / "moved", 24)
    assert moved == one.replace("from 0", "from 10")


def test_training_on_a_pool_of_nodes(three, folder):
    ended = [
        three.run(
            "alpha", sys.executable, SUPPORT / "nodes_ranks.py", folder / name, 12, **PYTHON, **where
        )
        for name, where in (("here", {}), ("apart", {"SHOAL_NODES": "alpha:1,beta:1,gamma:2"}))
    ]
    assert ended[0].returncode == ended[1].returncode == 0, [run.stderr for run in ended]
    here, apart = (run.stdout.splitlines()[-1] for run in ended)
    assert here == apart and here.startswith("from 0 to 12: ")
    for name in three.names:
        assert wait_until(lambda: not three.processes(name), 8), three.processes(name)  # noqa: B023


POOL = """
import sys, time, numpy as np, shoal
from shoal import P
with shoal.launch(4, nodes="alpha:1,beta:1,gamma:2") as pool:
    step = shoal.jit(lambda x: x * 2, mesh=shoal.Mesh(x=4), in_shardings=(P("x"),), devices=pool)
    x = np.arange(64, dtype=np.float32).reshape(8, 8)
    y = step(x)
    np.testing.assert_array_equal(y, 2 * x)
    assert [shard.data.shape for shard in y.shards] == [(2, 8)] * 4
    np.testing.assert_array_equal(y[3:5], 2 * x[3:5])
    z = pool.put(y, y.placement)
    np.testing.assert_array_equal(step(z), 4 * x)
    del z
    np.testing.assert_array_equal(step(step(y)), 8 * x)
    print("works", flush=True)
    sys.stdin.readline()
    begin = time.monotonic()
    try:
        for _ in range(1_000_000):
            step(y)
    except shoal.RunError as error:
        print(f"RunError after {time.monotonic() - begin:.1f} s: {error}")
    for call in (lambda: step(x), lambda: y.numpy()):
        try:
            call()
        except shoal.RunError as error:
            print(f"then: {error}")
"""


@pytest.mark.parametrize("starts", ["mpirun", "pool"])
def test_random_results_over_two_nodes_are_read_back(three, starts):
    count, timeout = (200, 3600) if "SHOAL_LONG" in os.environ else (8, 60)
    script = (sys.executable, SUPPORT / "result_ranks.py", 4, count)
    if starts == "mpirun":
        command = ("mpirun", "-n", 4, "--host", "alpha:2,beta:2", "-x", "PYTHONPATH", "-x", "SHOAL_CACHE")
        ended = three.run("alpha", *command, *script, timeout=timeout, **PYTHON)
    else:
        ended = three.run("alpha", *script, timeout=timeout, **PYTHON, SHOAL_NODES="alpha:2,beta:2")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("passed") == (4 if starts == "mpirun" else 1)


def test_the_pool_of_the_page(three):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    ended = three.run("alpha", sys.executable, "-c", code, **PYTHON)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "(8, 32) 1.0\n"


@pytest.mark.parametrize("fault", ["cut", "kill"])
def test_a_lost_node_of_a_pool_is_an_exception(three, fault):
    process = three.start("alpha", sys.executable, "-c", POOL, **PYTHON, SHOAL_COLLECTIVE_TIMEOUT="6")
    try:
        assert process.stdout.readline() == "works\n", process.communicate()
        begin = time.monotonic()
        if fault == "cut":
            three.cut("gamma")
        else:
            three.run("gamma", "pkill", "-KILL", "shoal-worker")
        out, err = process.communicate("go\n", timeout=40)
        assert time.monotonic() - begin < 6 + 6
        for name in ("alpha", "beta", "gamma"):
            assert wait_until(lambda: not three.processes(name), 10), three.processes(name)  # noqa: B023
    finally:
        three.mend("gamma")
    assert process.returncode == 0, err
    assert re.search(r"RunError after \d+\.\d s: .*\bgamma\b", out), (out, err)
    assert out.count("then: the devices on other nodes have ended") == 2, out


RUN = """
import sys, numpy as np, shoal
exe = shoal.load(sys.argv[1])  # into this node's own /tmp
x = np.linspace(-1, 1, 4 * 256 * 64, dtype=np.float32).reshape(4, 256, 64)
nodes = "alpha:1,beta:1,gamma:2"
here = exe.run({"x": x}, random_inputs=1)
stats = {}
apart = exe.run({"x": x}, random_inputs=1, nodes=nodes, warmup=1, repeat=2, stats=stats, threads=1)
assert len(here) == 4 and all(np.array_equal(here[name], apart[name]) for name in here)
assert stats["devices"] == 4 and 0 < stats["step_seconds"]["min"] <= stats["step_seconds"]["max"]
for wrong in ({"nodes": "alpha:1,nowhere:3"}, {"nodes": nodes, "timeout": 3.0, "repeat": 10**9}):
    try:
        exe.run({"x": x}, random_inputs=1, **wrong)
    except shoal.RunError as error:
        print("RunError:", str(error).splitlines()[0], "nowhere" in error.stderr)
"""


@pytest.fixture(scope="module")
def layer(folder):
    """A file that all nodes see, of a program that they lack."""
    path = folder / "moe.shoal"
    shoal.compile_text((ROOT / "examples/moe_layer/moe_layer.mlir").read_text()).save(path)
    return path


def test_a_run_on_nodes_that_lack_the_program(three, layer):
    ended = three.run("alpha", sys.executable, "-c", RUN, layer, **PYTHON)
    assert ended.returncode == 0, ended.stderr
    unknown, late = ended.stdout.splitlines()
    assert unknown.startswith("RunError: ") and unknown.endswith(" True"), unknown
    assert late.startswith("RunError: did not end in "), late


def test_a_lost_node_of_a_run_is_an_exception(three, layer):
    code = "import sys, shoal; shoal.load(sys.argv[1]).run(random_inputs=1, repeat=10**9)"
    where = {"SHOAL_NODES": "alpha:1,beta:1,gamma:2", "SHOAL_COLLECTIVE_TIMEOUT": "6"}
    process = three.start("alpha", sys.executable, "-c", code, layer, **PYTHON, **where)
    try:
        assert wait_until(lambda: three.are_on_their_way("gamma", "shoal-worker"), 60)
        begin = time.monotonic()
        three.cut("gamma")
        _, err = process.communicate(timeout=40)
        assert time.monotonic() - begin < 6 + 6
    finally:
        three.mend("gamma")
    assert process.returncode == 1 and re.search(r"RunError: .*\bgamma\b", err), err
    for name in three.names:
        assert wait_until(lambda: not three.processes(name), 10), three.processes(name)  # noqa: B023


@pytest.mark.parametrize("nodes", ["", "a:", ":2", "a:two", "a,,b"])
def test_nodes_that_are_none(nodes):
    with pytest.raises(shoal.InputError, match="expected NAME or NAME:COUNT"):
        meeting._arguments(nodes)


def test_a_lost_node_is_found_before_the_timeout(monkeypatch):
    for name in list(os.environ):
        if "keepalive" in name:
            monkeypatch.delenv(name)
    for timeout in (6, 60, 600):
        time_, interval, probes = (int(value) for value in launch.lost_node_environment(timeout).values())
        assert time_ + interval * probes < timeout
    assert launch.lost_node_environment(0) == {}
