# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The same under Slurm, whose daemons run on nodes that are namespaces of this machine."""

import os
import re
import shutil
import sys
import time

import network_nodes
import pytest
from network_nodes import Nodes, wait_until
from nodes_fixtures import folder, moe  # noqa: F401
from paths import PATHS
from shoal_testing import TARGET, run

if TARGET != "cpu":
    pytest.skip("of CPUs' programs", allow_module_level=True)
if reason := network_nodes.why_not():
    pytest.skip(reason, allow_module_level=True)
if missing := [
    tool
    for tool in ("munged", "slurmctld", "slurmd", "srun")
    if not shutil.which(tool, path=os.environ["PATH"] + ":/usr/sbin")
]:
    pytest.skip(f"{', '.join(missing)} not found: SHOAL_NODE_TESTS=1 utils/install-deps.sh", allow_module_level=True)

# Networks are made, and seconds counted.
pytestmark = pytest.mark.alone
KILL_WAIT = 3  # seconds that srun waits for the end of processes
SLURM = f"""
ClusterName=test
SlurmctldHost=alpha
SlurmUser=root
SlurmdUser=root
StateSaveLocation=/run/slurm/state
SlurmdSpoolDir=/run/slurm/spool
SlurmctldPidFile=/run/slurm/slurmctld.pid
SlurmdPidFile=/run/slurm/slurmd.pid
SlurmctldLogFile=/tmp/slurmctld.log
SlurmdLogFile=/tmp/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
KillWait={KILL_WAIT}
NodeName=alpha,beta,gamma CPUs=2
PartitionName=all Nodes=ALL Default=YES OverSubscribe=YES
"""
DAEMONS = """
mkdir -p /run/munge /run/slurm/state /run/slurm/spool
cp {folder}/munge.key /run/munge/key && chmod 600 /run/munge/key
munged --force --key-file=/run/munge/key --socket=/run/munge/munge.socket.2 --pid-file=/run/munge/pid \
  --log-file=/tmp/munge.log --seed-file=/run/munge/seed
[ "$(hostname)" = alpha ] && slurmctld
slurmd
"""


@pytest.fixture(scope="module")
def slurm(folder):
    """Runs a command on the first of three nodes of a Slurm cluster."""
    (folder / "slurm.conf").write_text(SLURM)
    (folder / "munge.key").write_bytes(os.urandom(1024))
    settings = {
        "SLURM_CONF": str(folder / "slurm.conf"),
        "PATH": os.environ["PATH"] + ":/usr/sbin",
        "PYTHONPATH": os.pathsep.join(PATHS),
        "SHOAL_NUM_THREADS": "1",
        # Of "mixed" ones (the default) some let a rank send to one that is still within MPI_Init and ends by SIGSEGV:
        # 4 of 210 runs.
        "SLURM_PMIX_FENCE": "tree",
    }
    with Nodes(3, [folder]) as nodes:
        for name in nodes.names:
            command = f"({DAEMONS.format(folder=folder)}) </dev/null >/dev/null 2>&1"
            nodes.run(name, "bash", "-c", command, **settings)
        sinfo = ("alpha", "sinfo", "--noheader", "--format=%D %t")
        assert wait_until(lambda: "3 idle" in nodes.run(*sinfo, **settings).stdout, 20)
        nodes.submit = lambda *command, **more: nodes.start("alpha", *command, **settings, **more)
        yield nodes


SRUN = ("srun", "--mpi=pmix", "--overcommit", "--nodes=3", "--ntasks=4", "--kill-on-bad-exit=1")


def test_an_executable_has_the_same_bits_as_under_mpirun(slurm, folder, moe):
    ended = run("mpirun", "-n", 4, moe, "--random-inputs=1", "--output-dir", folder / "one")
    ended.expect_success()
    # The folder is on rank 0's node alone.
    process = slurm.submit(*SRUN, moe, "--random-inputs=1", "--output-dir", "/tmp/out")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, (out, err)
    slurm.run("alpha", "cp", "-r", "/tmp/out", folder / "srun")
    files = [{path.name: path.read_bytes() for path in (folder / name).iterdir()} for name in ("one", "srun")]
    assert files[0] == files[1] and len(files[0]) == 4


def test_a_rank_that_is_stopped_ends_the_step(slurm, moe):
    process = slurm.submit(*SRUN, moe, "--random-inputs=1", "--repeat=100000000", "--collective-timeout=2")
    ranks = lambda: [number for number, name in slurm.processes("gamma").items() if name == "moe"]  # noqa: E731
    assert wait_until(lambda: slurm.are_on_their_way("gamma", "moe"), 60)
    slurm.run("gamma", "kill", "-STOP", *ranks())
    _, err = process.communicate(timeout=40)
    assert process.returncode != 0
    assert re.search(r"error: node gamma \(ranks? [\d, ]+\) has not been heard of", err), err
    for name in slurm.names:
        left = lambda: "moe" in slurm.processes(name).values()  # noqa: B023,E731
        assert wait_until(lambda: not left(), 15), slurm.processes(name)  # noqa: B023


def test_a_cut_link_ends_the_step_with_the_nodes_name(slurm, moe):
    process = slurm.submit(*SRUN, moe, "--random-inputs=1", "--repeat=100000000", "--collective-timeout=4")
    assert wait_until(lambda: slurm.are_on_their_way("gamma", "moe"), 60)
    slurm.cut("gamma")
    begin = time.monotonic()
    try:
        # A job before may not have left its nodes yet: srun says that it waits.
        line = next(line for line in process.stderr if not line.startswith("srun: job "))
        assert re.match(r"error: node gamma \(ranks? [\d, ]+\) has not been heard of", line), (line, process.communicate())
        assert time.monotonic() - begin < 4 + 5
        for name in slurm.names:
            left = lambda: "moe" in slurm.processes(name).values()  # noqa: B023,E731
            assert wait_until(lambda: not left(), 10), (name, slurm.processes(name))  # noqa: B023
        # srun waits for the daemon that it cannot reach.
        _, err = process.communicate(timeout=60)
    finally:
        slurm.mend("gamma")
    assert process.returncode != 0 and time.monotonic() - begin < 4 + KILL_WAIT + 15, err


POOL = """
import numpy as np, shoal
from shoal import P
with shoal.launch(3, nodes="allocated") as pool:
    step = shoal.jit(lambda x: x + 1, mesh=shoal.Mesh(x=3), in_shardings=(P("x"),), devices=pool)
    print(step(np.arange(3.0, dtype=np.float32)).tolist(), repr(step(np.zeros(3, np.float32)).devices))
    print(sorted(connection.node for connection in pool._workers._connections))
"""


def test_a_pool_on_the_nodes_of_an_allocation(slurm):
    process = slurm.submit("salloc", "--nodes=3", "--ntasks=3", sys.executable, "-c", POOL)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, (out, err)
    assert out.startswith("[1.0, 2.0, 3.0]") and "['alpha', 'beta', 'gamma']" in out
