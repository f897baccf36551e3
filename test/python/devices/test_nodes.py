# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs on several nodes, which are namespaces of this machine: executables and faults."""

import re
import time
from pathlib import Path

import network_nodes
import numpy as np
import pytest
from nodes_fixtures import folder, moe, three  # noqa: F401
from network_nodes import Nodes, wait_until
from shoal_testing import ROOT, TARGET, run

if TARGET != "cpu":
    pytest.skip("of CPUs' programs", allow_module_level=True)
if reason := network_nodes.why_not():
    pytest.skip(reason, allow_module_level=True)

# Networks are made, and seconds counted.
pytestmark = pytest.mark.alone

# What lets Open MPI notice a lost node in four seconds; docs/guide/Nodes.md.
QUICK = {
    "OMPI_MCA_oob_tcp_keepalive_time": "2",
    "OMPI_MCA_oob_tcp_keepalive_intvl": "1",
    "OMPI_MCA_oob_tcp_keepalive_probes": "2",
}


def results(folder):
    return {path.name: path.read_bytes() for path in folder.glob("*.npy")}


def test_the_layer_has_the_same_bits_on_one_two_and_three_nodes(three, folder, moe):
    for name, nodes in (("one", "alpha:4"), ("two", "alpha:2,beta:2"), ("three", "alpha:1,beta:2,gamma:1")):
        command = ("mpirun", "-n", 4, "--host", nodes, moe, "--random-inputs=1", "--output-dir", folder / name)
        ended = three.run("alpha", *command)
        assert ended.returncode == 0, ended.stderr
    assert len(results(folder / "one")) == 4
    assert results(folder / "one") == results(folder / "two") == results(folder / "three")


def test_the_command_of_the_page(three, folder, moe):
    command = re.findall(r"```sh\n(mpirun.*?)```", (ROOT / "docs/guide/Nodes.md").read_text(), re.DOTALL)[0]
    assert "--output-dir out" in command
    (folder / "page").mkdir()
    ended = three.run(
        "alpha", "bash", "-c", f"cd {folder}/page && cp {moe} program && {command.strip()} && ls out"
    )
    assert ended.returncode == 0, ended.stderr
    assert "y.npy" in ended.stdout


class Running:
    """A job that goes on for ever, with rank 0 on alpha, 1 on beta, 2 and 3 on gamma."""

    def __init__(self, nodes, program, timeout):
        self.nodes = nodes
        self.process = nodes.start(
            *("alpha", "mpirun", "-n", 4, "--host", "alpha:1,beta:1,gamma:2", program),
            *("--random-inputs=1", "--repeat=100000000", f"--collective-timeout={timeout}"),
            **QUICK,
        )
        assert wait_until(lambda: all(nodes.are_on_their_way(name, "moe") for name in nodes.names), 60)

    def ranks(self, name):
        return [number for number, command in self.nodes.processes(name).items() if command == "moe"]

    def error(self, limit):
        """What is said behind the fault; nothing is left then."""
        begin = time.monotonic()
        _, err = self.process.communicate(timeout=30)
        seconds = time.monotonic() - begin
        assert self.process.returncode != 0 and seconds < limit, (seconds, err)
        for name in self.nodes.names:
            assert wait_until(lambda: not self.nodes.processes(name), 8), self.nodes.processes(name)  # noqa: B023
        return err


def test_a_rank_that_is_stopped_alone_on_its_node(three, moe):
    job = Running(three, moe, 2)
    three.run("beta", "kill", "-STOP", *job.ranks("beta"))
    err = job.error(2 + 5)
    assert re.search(r"^error: node beta \(rank 1\) has not been heard of for \d s: rank \d waits for it in", err, re.M), err
    assert re.search(r"^  rank 0 on alpha: step \d+, in", err, re.M), err


def test_a_rank_that_is_stopped_beside_another_one(three, moe):
    job = Running(three, moe, 2)
    three.run("gamma", "kill", "-STOP", job.ranks("gamma")[0])
    err = job.error(2 + 5)
    assert re.search(r"^error: rank [23] \(process \d+ on gamma\) has not run for \d s", err, re.M), err
    assert "; the process is stopped" in err


def test_a_cut_link_ends_the_job_with_the_nodes_name(three, moe):
    job = Running(three, moe, 8)
    three.cut("gamma")
    try:
        err = job.error(8 + 4)
    finally:
        three.mend("gamma")
    assert "node gamma (ranks 2, 3) has not been heard of" in err or re.search(r"on node gamma", err), err


def test_files_are_on_the_first_node_alone(three, folder, moe):
    """Each node has a /tmp of its own: rank 0 reads for the others, and writes what they made."""
    x = np.random.default_rng(0).standard_normal((4, 256, 64)).astype(np.float32)
    np.save(folder / "x.npy", x)
    here = "/tmp/alone"
    three.run("alpha", "bash", "-c", f"mkdir {here} && cp {folder}/x.npy {here}")
    flags = (f"--input=x={here}/x.npy", "--random-inputs=1")
    ended = three.run(
        *("alpha", "mpirun", "-n", 4, "--host", "alpha:1,beta:1,gamma:2"),
        *(moe, *flags, "--output-dir", f"{here}/out"),
    )
    assert ended.returncode == 0, ended.stderr
    alone = ("mpirun", "-n", 4, moe, *flags, "--output-dir", folder / "alone")
    assert three.run("alpha", *alone).returncode == 0
    three.run("alpha", "cp", "-r", f"{here}/out", folder)
    assert results(folder / "out") == results(folder / "alone") and results(folder / "out")
    assert three.run("beta", "ls", here).returncode != 0


def test_a_file_that_no_node_has(three, moe):
    ended = three.run(
        *("alpha", "mpirun", "-n", 4, "--host", "alpha:1,beta:1,gamma:2"),
        *(moe, "--random-inputs=1", "--input=x=/tmp/none.npy"),
    )
    assert ended.returncode != 0 and ended.stderr.count("error: ") == 1, ended.stderr
    assert 'error: input "x": ' in ended.stderr and "/tmp/none.npy" in ended.stderr


MPI_OF_ANOTHER_VERSION = r"""
#include <string.h>
int MPI_Get_library_version(char *text, int *length) {
  strcpy(text, "Open MPI v5.0.0");
  *length = strlen(text);
  return 0;
}
"""


def test_machines_that_differ(three, folder, moe):
    job = ("--random-inputs=1",)
    (folder / "mpi.c").write_text(MPI_OF_ANOTHER_VERSION)
    run("gcc", "-shared", "-fPIC", "-o", folder / "mpi.so", folder / "mpi.c").expect_success()
    other = ("-n", 2, "--host", "beta:2", "-x", f"LD_PRELOAD={folder}/mpi.so", moe, *job)
    ended = three.run("alpha", "mpirun", "-n", 2, "--host", "alpha:2", moe, *job, ":", *other)
    assert ended.returncode != 0
    assert re.search(r"error: rank 2 on beta has another MPI than rank 0 on alpha: Open MPI v5.0.0 instead of Open MPI v", ended.stderr), ended.stderr

    info = Path("/proc/cpuinfo").read_text()
    (folder / "cpuinfo").write_text(re.sub(r" avx2\b", "", info))
    three.run("gamma", "mount", "--bind", folder / "cpuinfo", "/proc/cpuinfo")
    command = ("alpha", "mpirun", "-n", 4, "--host", "alpha:2,gamma:2", moe, *job)
    try:
        ended, allowed = three.run(*command), three.run(*command[:1], "env", "SHOAL_MIXED_CPUS=1", *command[1:2], "-x", "SHOAL_MIXED_CPUS", *command[2:])
    finally:
        three.run("gamma", "umount", "/proc/cpuinfo")
    assert allowed.returncode == 0, allowed.stderr
    assert ended.returncode != 0
    assert re.search(r"error: rank 2 on gamma has another kind of CPU .* than rank 0 on alpha: \S+ instead of \S+ with avx2$", ended.stderr, re.M), ended.stderr
