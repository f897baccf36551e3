# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts programs by mpirun, and ends them."""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import tempfile
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from shoal.closing import Closing
from shoal.errors import RunError
from shoal.executable.interrupts import CtrlCWatch
from shoal.frames import user_stacklevel

# As mpirun's --host has them, a list of such entries, a hostfile, or "allocated".
Nodes = str | Path | Sequence[str]

WORKER = Path(__file__).parent.parent / "bin/shoal-worker"

GRACE = 5.0  # seconds that mpirun has to end its processes
POLL = 0.2  # seconds between looks for a Ctrl-C
START = 60.0  # seconds that processes have to find each other
_MOST_PER_CORE = 64  # processes: more do not find each other in that time

# What many ranks on a small machine need, and containers, where one is root.
_DEFAULTS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    # Containers often forbid the single-copy system call.
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
}
# One machine: shared memory alone. A port that is open takes what anybody sends for a message.
# Open MPI spends half of a start looking for ways to send of clusters before it takes this one.
_ONE_MACHINE = {"OMPI_MCA_btl": "self,vader", "OMPI_MCA_pml": "ob1"}
# Of mpirun itself, which `Launcher` keeps to the loopback then.
_LONELY = {"OMPI_MCA_oob_tcp_if_include": "lo"}
# Settings of the user's, of which Open MPI takes one alone, and resource managers, whose nodes' daemons call
# mpirun though no rank of this job is theirs.
_OTHER_NETWORKS = (
    "OMPI_MCA_oob_tcp_if_include", "OMPI_MCA_oob_tcp_if_exclude", "OMPI_MCA_oob_tcp_exclude", "OMPI_MCA_oob_tcp_include",
    "SLURM_JOB_ID", "PBS_NODEFILE", "LSB_JOBID", "PE_HOSTFILE",
)  # fmt: skip
# No rank owns a core: ranks share them, or a rank's threads have several.
_UNBOUND = {"OMPI_MCA_hwloc_base_binding_policy": "none"}
# Waiting ranks give their core to those that compute.
_CROWDED = {**_UNBOUND, "OMPI_MCA_mpi_yield_when_idle": "1"}


def environment(devices: int, *, is_one_machine: bool = True) -> dict[str, str]:
    """This process' environment and the above, where the user does not say otherwise."""
    cores = len(os.sched_getaffinity(0))
    placed = _CROWDED if devices > cores else _UNBOUND if devices < cores else {}
    shared = _ONE_MACHINE if is_one_machine else {}
    lonely = _LONELY if is_one_machine and is_lonely() else {}
    return {**_DEFAULTS, **placed, **shared, **lonely, **os.environ}


def is_lonely() -> bool:
    """Whether nobody on another machine has a word for the mpirun of a job on this one."""
    return not any(name in os.environ for name in _OTHER_NETWORKS)


def expect_startable(devices: int) -> None:
    """RunError for more processes than this machine, where no other takes some of them, starts in time."""
    most = _MOST_PER_CORE * len(os.sched_getaffinity(0))
    if devices > most and is_lonely():
        raise RunError(
            f"{devices} devices are as many processes, and this machine has cores for {most}, {_MOST_PER_CORE} each: give"
            " the nodes that they are on (SHOAL_NODES), or compile for them without running (shoal.compile)"
        )


def lost_node_environment(seconds: int) -> dict[str, str]:
    """What lets mpirun find, in fewer than so many seconds, that a node does not answer; 0: never.

    Once it has sent something to that node it would wait for a quarter of an hour.
    """
    if seconds == 0:
        return {}
    settings = {"time": seconds // 3, "intvl": seconds // 12, "probes": 3}
    made = {
        f"OMPI_MCA_oob_tcp_keepalive_{name}": str(max(value, 1)) for name, value in settings.items()
    }
    return {name: value for name, value in made.items() if name not in os.environ}


def nodes_by_default() -> str | None:
    """What the environment's SHOAL_NODES says of everything that is not told where it runs."""
    return os.environ.get("SHOAL_NODES") or None


def exported(variables: Iterable[str]) -> list[str]:
    """mpirun's flags that give other nodes' processes what is said to Shoal's runtime."""
    names = [name for name in variables if name.startswith("SHOAL_")]
    return [word for name in sorted(names) for word in ("-x", name)]


def mpirun(devices: int, program: Path, flags: Sequence[str], timeout: float | None) -> str:
    """Runs the program on so many processes and returns what it wrote to stdout.

    RunError where it fails or does not end in `timeout` seconds,
    KeyboardInterrupt after a Ctrl-C, in any thread. Nothing is left running,
    whatever happens to this process. Processes that do not find each other are
    started once more, with a warning: Open MPI's start can be a deadlock.
    """
    expect_startable(devices)
    command = [find_mpirun(), "-n", str(devices), str(program), *flags]
    with tempfile.NamedTemporaryFile(prefix="shoal-") as started:
        try:
            return _run(command, devices, timeout, Path(started.name))
        except _NotStartedError:
            warnings.warn(
                f"{program.name}: no process was through MPI_Init after {START:g} s; started again",
                RuntimeWarning,
                stacklevel=user_stacklevel(),
            )
        try:
            return _run(command, devices, timeout, Path(started.name))
        except _NotStartedError as error:
            raise RunError(
                f"no process was through MPI_Init after {START:g} s, twice", error.stderr
            ) from None


class _NotStartedError(Exception):
    def __init__(self, stderr: str):
        super().__init__(stderr)
        self.stderr = stderr


def _run(command: Sequence[str], devices: int, timeout: float | None, started: Path) -> str:
    """What it wrote to stdout. Each process adds a byte to `started` behind MPI_Init."""
    variables = {**environment(devices), "SHOAL_STARTED": str(started)}
    with Launcher(
        command, variables, is_lonely=is_lonely(), text=True, errors="replace"
    ) as launcher:
        return _outcome(launcher.process, timeout, started)


def _outcome(process: subprocess.Popen[str], timeout: float | None, started: Path) -> str:
    try:
        stdout, stderr = _wait(process, timeout, started)
    except _NotStartedError:
        raise _NotStartedError(end(process)) from None
    except subprocess.TimeoutExpired:
        stderr = end(process)
        raise RunError(f"did not end in {timeout:g} s", stderr) from None
    except BaseException:
        end(process)
        raise
    if process.returncode != 0:
        raise RunError(_explain(process.returncode, stderr), stderr)
    return stdout


def _wait(
    process: subprocess.Popen[str], timeout: float | None, started: Path
) -> tuple[str, str]:
    """What the process wrote until its end.

    Raises TimeoutExpired, _NotStartedError and KeyboardInterrupt.
    """
    end_time = math.inf if timeout is None else time.monotonic() + timeout
    start_time = time.monotonic() + START
    look_time, is_left = time.monotonic() + GRACE, False
    with CtrlCWatch() as ctrl_c:
        while True:
            try:
                left = max(end_time - time.monotonic(), 0)
                return process.communicate(timeout=min(left, POLL))
            except subprocess.TimeoutExpired:
                if time.monotonic() >= end_time:
                    raise
            if time.monotonic() >= start_time:
                if started.stat().st_size == 0:
                    raise _NotStartedError("")
                start_time = math.inf
            if time.monotonic() >= look_time:
                was_left, is_left = is_left, _session_members(process.pid) == [process.pid]
                if was_left and is_left:
                    raise RunError(
                        "mpirun does not end, though its processes have: somebody who has connected to one "
                        "of its ports may keep it"
                    )
                look_time = time.monotonic() + GRACE
            if ctrl_c.came:
                raise KeyboardInterrupt


def is_in_job() -> bool:
    """Whether this process is one of an MPI job."""
    return "OMPI_COMM_WORLD_SIZE" in os.environ or "PMIX_RANK" in os.environ


def rank_in_job() -> int:
    """This process' rank in its MPI job, also before MPI is there; 0 outside of one."""
    return int(os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ.get("PMIX_RANK") or 0)


def find_mpirun() -> str:
    """Its path; RunError where it is not there, or may not be started here."""
    if is_in_job():
        raise RunError(
            "this process is one of an MPI job and cannot start another: "
            "use Executable.open(comm)"
        )
    path = shutil.which("mpirun")
    if path is None:
        raise RunError("cannot find mpirun: install openmpi-bin")
    return path


class Launcher(Closing):
    """An mpirun that ends, with its processes, when this process does, however that comes: from its
    first moment it is watched by a process that sees this one's end of a pipe close.

    process: its session has its own number.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        is_lonely: bool,
        **options: Any,
    ):
        """is_lonely: whether its ports are on the loopback alone. options: of Popen."""
        seen, self._held = os.pipe()
        try:
            self.process: subprocess.Popen[Any] = subprocess.Popen(
                [str(WORKER), f"--watch={seen}", *["--loopback"] * is_lonely, *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                pass_fds=[seen],
                # A Ctrl-C is ours to handle, and all of them have this session's number.
                start_new_session=True,
                **options,
            )
        except BaseException:
            self.close()
            raise
        finally:
            os.close(seen)

    def close(self) -> None:
        """From now on, or where it has not ended, it is ended; once more is nothing."""
        held, self._held = self._held, -1
        if held >= 0:
            os.close(held)


def _explain(code: int, stderr: str) -> str:
    """The program's own error, or the end of what there is."""
    lines = [line for line in stderr.splitlines() if line.strip()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    if errors:
        return errors[0]
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return "\n".join([f"mpirun ended with {how}", *lines[-10:]])


def end(process: subprocess.Popen[str]) -> str:
    """Ends mpirun and all that it started; returns what was on stderr."""
    process.terminate()  # mpirun then ends its processes
    try:
        return process.communicate(timeout=GRACE)[1]
    except subprocess.TimeoutExpired:
        pass
    finally:
        kill_session(process.pid)
    return process.communicate()[1]


def kill_session(session: int) -> None:
    """All processes of a session, which those have that were started with a new one."""
    for member in _session_members(session):
        try:
            os.kill(member, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _session_members(session: int) -> list[int]:
    """The processes of a session: mpirun gives each of its processes a group of its own."""
    members = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # The name, in brackets, may have blanks; the session is the fourth behind.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[3]) == session:
            members.append(int(entry.name))
    return members
