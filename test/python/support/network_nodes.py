# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Several nodes on one machine, each in Linux' namespaces: what tests of docs/guide/Nodes.md run on.

Usage: network_nodes.py COUNT COMMAND...
Runs the command on the first of so many nodes, with $NODES the list of their names.

A node has its own name, processes, network card and addresses, /tmp, /run and /dev/shm, and an sshd;
the other folders are the machine's. A bridge joins the cards. Nothing is made in the machine's own
network, and all of it goes when this process ends, however that comes. Needs root, iproute2, util-linux
and openssh-server.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

NAMES = ("alpha", "beta", "gamma", "delta")
_TOOLS = ("ip", "nsenter", "unshare", "ssh", "sshd", "ssh-keygen")
_PRIVATE = ("/tmp", "/dev/shm", "/run")
_START = 20.0  # seconds

# What the first process of a node does; its arguments are a folder, its name and shared folders.
_INIT = """
set -e
folder=$1; name=$2; shift 2
hostname "$name"
mount --make-rprivate /
mount -t tmpfs none /run
number=0
for path in "$folder" "$@"; do
  mkdir /run/shared-$number
  mount --bind "$path" /run/shared-$number
  number=$((number + 1))
done
mount -t tmpfs none /tmp
mount -t tmpfs none /dev/shm
number=0
for path in "$folder" "$@"; do
  mkdir -p "$path"
  mount --bind /run/shared-$number "$path"
  number=$((number + 1))
done
mkdir -p /run/sshd
mount --bind "$folder/hosts" /etc/hosts
ip link set lo up
while ! ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
ip address add "$(awk -v name="$name" '$2 == name { print $1 }' "$folder/hosts")/24" dev eth0
ip link set eth0 up
touch "$folder/up-$name"
exec "$SSHD" -D -e -f "$folder/sshd_config"
"""

_SSHD = """
HostKey {folder}/key
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin yes
MaxStartups 100
"""

_SSH = """
Host *
  IdentityFile {folder}/key
  StrictHostKeyChecking no
  UserKnownHostsFile /dev/null
  LogLevel ERROR
"""


@functools.cache
def why_not() -> str | None:
    """What this machine lacks; None where nodes can be made."""
    if os.getuid() != 0:
        return "namespaces of a network need root"
    if Path(__file__).resolve().is_relative_to("/tmp"):
        return "each node has a /tmp of its own, where this repository would not be"
    missing = [tool for tool in _TOOLS if not _find(tool)]
    if missing:
        return f"{', '.join(missing)} not found: SHOAL_NODE_TESTS=1 utils/install-deps.sh installs them"
    trial = "ip link add v0 type veth peer name v1 && ip link add b0 type bridge && mount -t tmpfs none /tmp"
    ended = subprocess.run(
        ["unshare", "-n", "-u", "-m", "-p", "-f", "bash", "-c", trial],
        capture_output=True,
        text=True,
        check=False,
    )
    return f"no namespaces: {ended.stderr.strip()}" if ended.returncode else None


def _find(tool: str) -> str | None:
    return shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


class Nodes:
    """So many nodes until the end of `with`; see the file's head.

    shared: folders that all of them see where they are, also below /tmp.
    """

    def __init__(self, count: int, shared: Sequence[Path | str] = ()):
        self.names = NAMES[:count]
        self._shared = [str(path) for path in shared]
        self._stack = contextlib.ExitStack()
        self._processes: dict[str, int] = {}

    def __enter__(self) -> Nodes:
        with self._stack:
            self._start()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _start(self) -> None:
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="nodes-")))
        self._write_files()
        self._switch = self._keep(["unshare", "-n", "--kill-child", "-f", "sleep", "infinity"])
        self._in_network("ip", "link", "add", "bridge", "type", "bridge")
        self._in_network("ip", "link", "set", "bridge", "up")
        for name in self.names:
            self._start_node(name)
        end = time.monotonic() + _START
        while not all(self._answers(name) for name in self.names):
            if time.monotonic() > end:
                raise TimeoutError(f"nodes did not start in {_START:g} s")
            time.sleep(0.05)

    def _write_files(self) -> None:
        lines = [f"10.77.0.{1 + number} {name}" for number, name in enumerate(self.names)]
        (self.folder / "hosts").write_text("\n".join(["127.0.0.1 localhost", *lines, ""]))
        (self.folder / "sshd_config").write_text(_SSHD.format(folder=self.folder))
        (self.folder / "ssh_config").write_text(_SSH.format(folder=self.folder))
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.folder / "key")],
            check=True,
        )

    def _start_node(self, name: str) -> None:
        arguments = [str(self.folder), name, *self._shared]
        process = self._keep(
            ["unshare", "-n", "-u", "-m", "-p", "-f", "--mount-proc", "--kill-child",
             "bash", "-c", _INIT, "init", *arguments]  # fmt: skip
        )
        self._processes[name] = process
        self._in_network(
            "ip", "link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", str(process)
        )
        self._in_network("ip", "link", "set", name, "master", "bridge")
        self._in_network("ip", "link", "set", name, "up")

    def _keep(self, command: list[str]) -> int:
        """Starts what ends with the nodes; the process that `unshare` has made."""
        environment = {**os.environ, "SSHD": _find("sshd") or "sshd"}
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
            )
        self._stack.callback(process.wait)
        self._stack.callback(process.kill)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        end = time.monotonic() + _START
        while not (found := children.read_text().split()):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.01)
        return int(found[0])

    def _in_network(self, *command: str) -> None:
        subprocess.run(["nsenter", "-t", str(self._switch), "-n", *command], check=True)

    def _answers(self, name: str) -> bool:
        if not (self.folder / f"up-{name}").exists():
            return False
        return self.run(name, "bash", "-c", "exec 3<>/dev/tcp/localhost/22").returncode == 0

    # On a node

    def environment(self) -> dict[str, str]:
        """What mpirun needs on a node, beside this process' environment."""
        return {
            **os.environ,
            "NODES": ",".join(self.names),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_plm_rsh_agent": f"ssh -F {self.folder}/ssh_config",
            "OMPI_MCA_rmaps_base_oversubscribe": "1",
            "OMPI_MCA_hwloc_base_binding_policy": "none",
            "OMPI_MCA_mpi_yield_when_idle": "1",
            "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        }

    def start(self, name: str, *command: object, **environment: str) -> subprocess.Popen[str]:
        """A command on a node, with pipes for what it reads and writes."""
        enter = ["nsenter", "-t", str(self._processes[name]), "-n", "-u", "-m", "-p"]
        return subprocess.Popen(
            [*enter, f"--wd={os.getcwd()}", *map(str, command)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            env={**self.environment(), **environment},
        )

    def run(
        self, name: str, *command: object, timeout: float = 60, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """The same, to its end; one that takes longer goes with the nodes."""
        process = self.start(name, *command, **environment)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def processes(self, name: str) -> dict[int, str]:
        """What runs there, by the node's numbers, but for what makes the node."""
        listed = self.run(name, "ps", "-A", "-o", "pid=,stat=,comm=").stdout
        entries = (line.split(None, 2) for line in listed.splitlines())
        return {
            int(number): command
            for number, state, command in entries
            if state[0] != "Z" and command not in ("sshd", "ps")
        }

    def are_on_their_way(self, name: str, command: str) -> bool:
        """Whether processes of this command run there, each of which has had a second of a processor:
        programs that compute for ever are past the start of MPI then, however busy the machine is."""
        listed = self.run(name, "ps", "-C", command, "-o", "stat=,cputimes=").stdout.splitlines()
        seconds = [int(line.split()[1]) for line in listed if line[0] != "Z"]
        return bool(seconds) and min(seconds) >= 1

    # Faults

    def cut(self, name: str) -> None:
        """Takes the node's cable out."""
        self._in_network("ip", "link", "set", name, "down")

    def mend(self, name: str) -> None:
        self._in_network("ip", "link", "set", name, "up")

    def power_off(self, name: str) -> None:
        """Its processes and its card are gone, without a word."""
        self.cut(name)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._processes[name], 9)


def wait_until(condition: object, seconds: float) -> bool:
    """Whether it holds within so many seconds."""
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@contextlib.contextmanager
def nodes(count: int, shared: Sequence[Path | str] = ()) -> Iterator[Nodes]:
    with Nodes(count, shared) as made:
        yield made


def main() -> int:
    reason = why_not()
    if reason:
        print(f"error: {reason}", file=sys.stderr)
        return 1
    with Nodes(int(sys.argv[1])) as made:
        process = subprocess.run(
            ["nsenter", "-t", str(made._processes[made.names[0]]), "-n", "-u", "-m", "-p",
             f"--wd={os.getcwd()}", *sys.argv[2:]],
            env=made.environment(),
            check=False,
        )  # fmt: skip
        return process.returncode


if __name__ == "__main__":
    sys.exit(main())
