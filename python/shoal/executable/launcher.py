# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The mpirun that has started this process, which now and then does not end with its job.

The same as makeSureLauncherEnds of the runtime (lib/Runtime/Job/Launcher.cpp), for ranks that end their job where no
program is open.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

# Of Open MPI 4 and 5, on the job's first node and on others.
_LAUNCHERS = {"mpirun", "mpiexec", "orterun", "orted", "prterun", "prted"}

# Run by a process of its own, which the launcher does not know. Descriptors of processes mean these alone, even when
# their numbers are others'. A launcher ends ranks by SIGTERM and, a second later, by SIGKILL.
_WATCH = """
import os, select, signal, sys
opened = []
for number in sys.argv[1:]:
    try:
        opened.append(os.pidfd_open(int(number)))
    except OSError:
        pass
if opened and not select.select(opened[:1], [], [], 3)[0]:
    for descriptor in opened[1:] + opened[:1]:
        try:
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        except OSError:
            pass
"""


def make_sure_it_ends() -> None:
    """In front of MPI_Abort: a few seconds later the launcher is killed if it is still there, with its other ranks."""
    launcher = _find()
    if launcher is None:
        return
    others = [child for child in _children(launcher) if child != os.getpid()]
    watch = [sys.executable, "-S", "-c", _WATCH, *map(str, (launcher, *others))]
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        subprocess.Popen(watch, start_new_session=True, **quiet)  # pylint: disable=consider-using-with
    except OSError:
        return  # it ends by itself, as a rule


def _find() -> int | None:
    process = os.getppid()
    while process > 1:
        try:
            if Path(f"/proc/{process}/comm").read_text(encoding="utf-8").strip() in _LAUNCHERS:
                return process
            status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
        except OSError:
            return None
        process = int(status.split("PPid:", 1)[1].split()[0])
    return None


def _children(process: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []
