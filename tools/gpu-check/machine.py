# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The machine that a pack is unpacked on: its libraries, and commands that run there."""

import importlib.util
import json
import os
import platform
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent


def library_folders():
    """Where NVIDIA's libraries may be: Python's packages, the toolkit, then the pack.

    A machine's own come first: those of one release go together, and cuBLASLt is
    in no pack.
    """
    folders = []
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations if spec else ():
        folders += sorted(Path(root).glob("*/lib"))
    folders += [Path("/usr/local/cuda/lib64"), HERE / "cuda", HERE / "nccl"]
    return [str(folder) for folder in folders if folder.is_dir()]


def environment(packed_nccl=False):
    """Of programs: MPI of the pack; with `packed_nccl` NCCL, too."""
    mpi = HERE / "mpi"
    paths = [str(HERE / "nccl")] if packed_nccl else []
    paths += [str(mpi / "lib"), *library_folders(), os.environ.get("LD_LIBRARY_PATH", "")]
    # Outside of a pack the system's MPI is taken.
    packed = {"OPAL_PREFIX": str(mpi)} if mpi.exists() else {}
    emulation = HERE / "emulation" / "libshoal_cuda_emulation.so"
    if emulation.exists():
        packed["SHOAL_EMULATION_LIBRARY"] = str(emulation)
    return {
        **os.environ,
        **packed,
        "LD_LIBRARY_PATH": ":".join(filter(None, paths)),
        "PATH": f"{mpi / 'bin'}:{os.environ.get('PATH', os.defpath)}",
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "OMPI_MCA_rmaps_base_oversubscribe": "1",
        "OMPI_MCA_hwloc_base_binding_policy": "none",
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_btl": "self,vader,tcp",
        "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
        "OMPI_MCA_plm_rsh_agent": "false",
        "NCCL_MULTI_RANK_GPU_ENABLE": "1",
        # What frameworks leave free is Shoal's and the other one's.
        "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    }


@dataclass
class Ended:
    """How a command ended; past its time the code is 124, and 127 if there is none."""

    code: int
    stdout: str
    stderr: str

    def why(self):
        """Of a failure, in few words."""
        return f"exit {self.code}: {(self.stderr.strip() or self.stdout.strip())[-500:]}"


def end(process):
    """Ends a command and what it started: mpirun ends its ranks when it is asked to."""
    process.terminate()
    try:
        return process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()


# What runs now, and whether this process was told to end.
_running = set()
_ending = False


def run(command, seconds, **options):
    """Runs a command; nothing that it started runs on when this returns or raises."""
    if _ending:
        return Ended(143, "", "this process is ending")
    try:
        process = subprocess.Popen(
            [str(part) for part in command],
            env=environment(**options),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        return Ended(127, "", str(error))
    _running.add(process)
    try:
        stdout, stderr = process.communicate(timeout=max(seconds, 1))
    except subprocess.TimeoutExpired:
        stdout, stderr = end(process)
        return Ended(124, stdout, f"{stderr}\nran past {seconds:.0f} s")
    finally:
        _running.discard(process)
        if process.poll() is None:
            end(process)
    return Ended(process.returncode, stdout, stderr)


def end_on_sigterm():
    """A SIGTERM ends the commands of all threads, then this process; none begins after it."""

    def leave(*_):
        global _ending
        _ending = True
        for process in list(_running):
            process.terminate()
        sys.exit(143)

    signal.signal(signal.SIGTERM, leave)


def save(path, report):
    """Writes JSON; whoever reads meanwhile, or ends this process, finds a whole file."""
    scratch = path.with_suffix(".partial")
    scratch.write_text(json.dumps(report, indent=2) + "\n")
    scratch.replace(path)


def nccl_version(**options):
    """(2, 30, 7) of the NCCL that programs load, or why it has none."""
    code = (
        "import ctypes; n = ctypes.CDLL('libnccl.so.2'); v = ctypes.c_int();"
        "n.ncclGetVersion(ctypes.byref(v)); print(v.value)"
    )
    ended = run([sys.executable, "-c", code], 60, **options)
    if ended.code != 0:
        return ended.why()
    number = int(ended.stdout)
    return [number // 10000, number // 100 % 100, number % 100]


def count_devices():
    """How many GPUs the driver sees, or why none; asked in another process, which keeps nothing."""
    code = (
        "import ctypes; d = ctypes.CDLL('libcuda.so.1'); n = ctypes.c_int();"
        "s = d.cuInit(0) or d.cuDeviceGetCount(ctypes.byref(n));"
        "print(f'the driver answers with error {s}' if s else n.value)"
    )
    ended = run([sys.executable, "-c", code], 60)
    answer = (ended.stdout if ended.code == 0 else ended.stderr).strip().splitlines()[-1:]
    answer = "".join(answer).removeprefix("OSError: ")
    return int(answer) if answer.isdigit() else answer or f"exit {ended.code}"


def describe():
    """What the machine is, for the report."""
    query = "--query-gpu=name,driver_version,memory.total,compute_cap"
    ended = run(["nvidia-smi", query, "--format=csv,noheader"], 60)
    return {
        "devices": count_devices(),
        "gpu": ended.stdout.strip() if ended.code == 0 else None,
        "nccl": nccl_version(),
        "packed nccl": nccl_version(packed_nccl=True) if (HERE / "nccl").exists() else None,
        "system": platform.platform(),
        "python": platform.python_version(),
    }
