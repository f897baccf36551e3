# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How a pool and the processes that it starts find each other."""

from __future__ import annotations

import contextlib
import hmac
import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from shoal.devices.connection import is_of_same_user
from shoal.errors import InputError
from shoal.executable import launch
from shoal.executable.launch import WORKER, Nodes

# Where one worker has ended mpirun waits a second before it kills the others.
_ENVIRONMENT = {"OMPI_MCA_odls_base_sigkill_timeout": "0"}
_WORD = 32  # characters by which each side knows the other
_BACKLOG = 512  # that wait to be accepted
_DEFAULT_TIMEOUT = 60  # seconds; that of SHOAL_COLLECTIVE_TIMEOUT


class Meeting:
    """A socket that workers of this machine connect to, by a name without a file.

    listener: where they come.
    command, environment: what starts them.
    names_nodes: whether it matters which node a worker is on.
    """

    names_nodes = False
    # Of nodes, the names that this machine has no address of.
    unknown: Sequence[str] = ()

    @property
    def is_lonely(self) -> bool:
        """Whether mpirun's ports are on the loopback alone."""
        return launch.is_lonely()

    def __init__(self, count: int):
        launch.expect_startable(count)
        name = f"shoal-{secrets.token_hex(16)}"
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(f"\0{name}")
        self._listen()
        self.command = [launch.find_mpirun(), "-n", str(count), str(WORKER), f"--parent={name}"]
        self.environment = {**_ENVIRONMENT, **launch.environment(count)}

    def _listen(self) -> None:
        self.listener.listen(_BACKLOG)
        self.listener.setblocking(False)

    @property
    def word(self) -> bytes:
        """What a worker says first; nothing: who may connect is one."""
        return b""

    def admits(self, connected: socket.socket, said: bytes) -> bool:
        """Whether this is a worker, by what it has said, of the word's length; anybody may come."""
        return is_of_same_user(connected)

    def close(self) -> None:
        self.listener.close()


class NodesMeeting(Meeting):
    """The same by TCP, for workers on several nodes that mpirun reaches.

    Each side says a word that the environment of this pool's processes alone has. As
    what MPI sends, what is sent here can be read by who reads the network.
    """

    names_nodes = True
    is_lonely = False

    def __init__(self, count: int, nodes: Nodes, environment: Mapping[str, str] | None = None):
        """environment: of the workers, beside this process'."""
        names, arguments = _arguments(nodes)
        self.unknown = [name for name in dict.fromkeys(names) if not _has_address(name)]
        self._timeout = collective_timeout()
        self._words = (secrets.token_hex(_WORD // 2), secrets.token_hex(_WORD // 2))
        self.listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.listener.bind(("", 0))
        self._listen()
        invitation = ["".join(self._words), str(self.listener.getsockname()[1]), *_addresses(names)]
        self.environment = {
            **_ENVIRONMENT,
            **launch.environment(count, is_one_machine=False),
            **launch.lost_node_environment(self._timeout),
            **(environment or {}),
            "SHOAL_PARENT": " ".join(invitation),
        }
        self.command = [
            *(launch.find_mpirun(), "-n", str(count), *arguments),
            *launch.exported(self.environment),
            *(str(WORKER), f"--elsewhere={self._timeout}"),
        ]

    @property
    def word(self) -> bytes:
        return self._words[0].encode()

    def admits(self, connected: socket.socket, said: bytes) -> bool:
        if not hmac.compare_digest(said, self.word):
            return False
        try:
            connected.send(self._words[1].encode())  # a new socket has room for it
        except OSError:
            return False
        _keep_alive(connected, self._timeout)
        return True


def collective_timeout() -> int:
    """What SHOAL_COLLECTIVE_TIMEOUT says, in seconds."""
    text = os.environ.get("SHOAL_COLLECTIVE_TIMEOUT")
    if text is None:
        return _DEFAULT_TIMEOUT
    if not text.isdecimal():
        raise InputError(f'SHOAL_COLLECTIVE_TIMEOUT: "{text}" is not a number of seconds')
    return int(text)


def _keep_alive(connected: socket.socket, seconds: int) -> None:
    """The other end is gone when its machine has not answered for so many seconds."""
    connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if seconds == 0:
        return
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_KEEPIDLE, seconds // 2),
        (socket.TCP_KEEPINTVL, seconds // 6),
        (socket.TCP_KEEPCNT, 3),
        (socket.TCP_USER_TIMEOUT, 1000 * seconds),
    ):
        connected.setsockopt(socket.IPPROTO_TCP, option, max(value, 1))


def _arguments(nodes: Nodes) -> tuple[list[str], list[str]]:
    """The nodes' names, and how mpirun is told of them."""
    if isinstance(nodes, Path):
        lines = [line.partition("#")[0].split() for line in nodes.read_text().splitlines()]
        return [line[0] for line in lines if line], ["--hostfile", str(nodes)]
    if nodes == "allocated":
        return _allocated(), []
    entries = [entry.strip() for entry in nodes.split(",")] if isinstance(nodes, str) else [*nodes]
    for entry in entries:
        name, _, slots = entry.partition(":")
        if not name or (slots and not slots.isdecimal()) or entry.endswith(":"):
            raise InputError(f'nodes: expected NAME or NAME:COUNT but got "{entry}"')
    return [entry.partition(":")[0] for entry in entries], ["--host", ",".join(entries)]


def _allocated() -> list[str]:
    """Of the Slurm allocation that this process is in, which mpirun knows by itself."""
    nodes = os.environ.get("SLURM_JOB_NODELIST")
    if not nodes or not shutil.which("scontrol"):
        raise InputError('nodes="allocated": this process is in no allocation of Slurm')
    listed = subprocess.run(
        ["scontrol", "show", "hostnames", nodes], capture_output=True, text=True, check=True
    )
    return listed.stdout.split()


def _has_address(name: str) -> bool:
    try:
        return bool(socket.getaddrinfo(name, None))
    except (OSError, UnicodeError):
        return False


def _addresses(names: Iterable[str]) -> list[str]:
    """This machine's, as those nodes see it; the loopback at the end."""
    found: dict[str, None] = {}
    for name in [*names, socket.gethostname()]:
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((name, 9))  # nothing is sent
            found[probe.getsockname()[0]] = None
    return sorted(found, key=lambda address: address.startswith("127."))
