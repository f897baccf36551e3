#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packs the tests of executables for a machine with a GPU and without network.

    tools/gpu-check/pack.py --output gpu-check.tar.xz [-k EXPRESSION] [--arch sm_90]

Runs the Python tests here, on the CPU, and keeps what they compile, their inputs
and results (test/python/packing.py), with the benchmark's programs (layers.py),
MPI and run.py. The archive stays below 64 MiB. There:

    tar xf gpu-check.tar.xz && python3 gpu-check/run.py --output gpu-check.json
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import layers

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 64 << 20
# Parts of the system that every machine has its own of.
SYSTEM = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux", "linux-vdso", "libutil.so")


def dependencies(path):
    """The shared libraries that a file needs, without the C library's."""
    listed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    for line in listed.splitlines():
        name, _, target = line.strip().partition(" => ")
        if target and not name.startswith(SYSTEM):
            yield Path(target.split()[0])


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
        # Fabrics that the machine would need drivers for.
        if not any(word in plugin.name for word in ("ucx", "ofi", "psm", "usnic", "openib", "portals")):
            shutil.copy(plugin, plugins)
            wanted.add(plugin)
    for path in {library for file in wanted for library in dependencies(file)}:
        shutil.copy(path, folder / "lib" / path.name)
    shutil.copytree("/usr/share/openmpi", folder / "share" / "openmpi")


def run_tests(folder, expression, arch):
    environment = {
        **os.environ,
        "SHOAL_PACK_CASES": str(folder),
        "SHOAL_PACK_ARCH": arch,
        "SHOAL_TEST_TARGET": "cpu",
    }
    command = [sys.executable, "-m", "pytest", "-q", "test/python"]
    if expression:
        command += ["-k", expression]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode


def compile_benchmark(folder, arch, tiny=False):
    """The programs of layers.py and, in index.json, what each of them is."""
    folder.mkdir(parents=True)
    shoalc = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release")) / "bin/shoalc"
    index = {}
    for name, (text, record) in layers.programs(tiny).items():
        source = folder / f"{name}.mlir"
        source.write_text(text)
        command = [shoalc, source, "-o", folder / name, "--target=cuda", f"--cuda-arch={arch}"]
        subprocess.run(command, stdin=subprocess.DEVNULL, check=True)
        index[name] = record
    (folder / "index.json").write_text(json.dumps(index, indent=2) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True)
    parser.add_argument("-k", dest="expression", default="")
    parser.add_argument("--arch", default="sm_90", help="emulated to try the pack without a GPU")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "gpu-check"
        folder.mkdir()
        if code := run_tests(folder, options.expression, options.arch):
            sys.exit(f"the tests failed with exit code {code}: nothing is packed")
        copy_mpi(folder / "mpi")
        compile_benchmark(folder / "benchmark", options.arch, tiny=options.arch == "emulated")
        for script in ("run.py", "benchmark.py", "frameworks.py"):
            shutil.copy(ROOT / "tools/gpu-check" / script, folder)
        # Programs share most of their bytes: a long window finds them.
        with open(options.output, "wb") as archive:
            tar = subprocess.Popen(["tar", "-C", scratch, "-c", "gpu-check"], stdout=subprocess.PIPE)
            subprocess.run(["xz", "-T0", "--lzma2=preset=3,dict=128MiB"], stdin=tar.stdout, stdout=archive, check=True)
    size = Path(options.output).stat().st_size
    cases = f"{options.output}: {size / (1 << 20):.1f} MiB"
    if size > LIMIT:
        sys.exit(f"{cases} is more than {LIMIT >> 20} MiB: choose fewer tests with -k")
    print(cases)


if __name__ == "__main__":
    main()
