# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a pack carries beside programs: MPI, the CUDA runtime, NCCL, or the emulated device."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

from fatbin import keep_device_code

# Parts of the system that every machine has its own of.
SYSTEM = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux", "linux-vdso", "libutil.so")
# MPI's fabrics that a machine would need drivers for.
FABRICS = ("ucx", "ofi", "psm", "usnic", "openib", "portals")


def dependencies(path):
    """The shared libraries that a file needs, without the C library's."""
    listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        name, _, target = line.strip().partition(" => ")
        if target and not name.startswith(SYSTEM):
            if target.startswith("not found"):
                raise FileNotFoundError(f"{path} needs {name}, which is not here")
            yield Path(target.split()[0])


def copy_dependencies(files, folder):
    for path in {library for file in files for library in dependencies(file)}:
        shutil.copy(path, folder / path.name)


def copy_mpi(folder):
    """OpenMPI with what it starts and loads, to be moved by OPAL_PREFIX."""
    mpirun = Path(shutil.which("mpirun")).resolve()
    (folder / "bin").mkdir(parents=True)
    # Where Debian's build looks for them below its prefix.
    plugins = folder / "lib/x86_64-linux-gnu/openmpi/lib/openmpi3"
    plugins.mkdir(parents=True)
    wanted = {mpirun, Path(shutil.which("orted")).resolve()}
    for tool in list(wanted):
        shutil.copy(tool, folder / "bin")
    shutil.copy(mpirun, folder / "bin" / "mpirun")
    for plugin in Path("/usr", plugins.relative_to(folder)).glob("*.so"):
        if not any(word in plugin.name for word in FABRICS):
            shutil.copy(plugin, plugins)
            wanted.add(plugin)
    copy_dependencies(wanted, folder / "lib")
    shutil.copytree("/usr/share/openmpi", folder / "share" / "openmpi")



def toolkit():
    """The CUDA toolkit's folder, where nvcc is."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    return Path(nvcc).resolve().parents[1]


def copy_cuda_runtime(folder):
    """libcudart, for a machine with a driver and cuBLASLt alone."""
    folder.mkdir()
    shutil.copy(toolkit() / "lib64" / "libcudart.so.13", folder)


def find_nccl():
    """The NCCL of Python's nvidia-nccl-cu13, which may be newer than the toolkit's."""
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations if spec else ():
        path = Path(root) / "nccl" / "lib" / "libnccl.so.2"
        if path.exists():
            return path
    return None


def copy_nccl(source, folder, arch):
    """NCCL with the code for `arch` (sm_90) alone, without what debuggers read."""
    folder.mkdir()
    target = folder / "libnccl.so.2"
    keep_device_code(source, target, int(arch.removeprefix("sm_").rstrip("af")))
    subprocess.run(["strip", target], check=True)


def copy_emulation(library, folder):
    folder.mkdir()
    shutil.copy(library, folder)
    copy_dependencies([library], folder)
