# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What Open MPI leaves."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path


class Leftovers:
    """Files of a job that stay where its mpirun is killed, by what a worker is told of them."""

    def __init__(self, worker: int):
        self._folder, self._job = "", 0
        with contextlib.suppress(OSError, ValueError):
            variables = dict(
                entry.split("=", 1)
                for entry in Path(f"/proc/{worker}/environ").read_text().split("\0")
                if "=" in entry
            )
            self._folder = variables.get("OMPI_MCA_orte_jobfam_session_dir", "")
            self._job = int(variables.get("PMIX_NAMESPACE", "0"))

    def remove(self) -> None:
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
        if self._job:
            for segment in Path("/dev/shm").glob(f"vader_segment.*.{self._job:x}.*"):
                segment.unlink(missing_ok=True)
