#!/usr/bin/env python3
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Packs the tests of executables for a machine with a GPU and without network.

    tools/gpu-check/pack.py --output gpu-check.tar.xz [-k EXPRESSION] [--arch sm_90]
        [--nccl libnccl.so.2]

Runs the Python tests of executables here, on the CPU, and keeps what they
compile, their inputs and results (test/python/support/packing.py), with the benchmark's
programs (layers.py), MPI, the CUDA runtime, NCCL and run.py. NCCL is that of
Python's nvidia-nccl-cu13 (2.30 or newer, for several ranks on one GPU) where it
is installed. The archive stays below 64 MiB. There:

    tar xf gpu-check.tar.xz && python3 gpu-check/run.py --output gpu-check.json
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import bundle

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("SHOAL_BUILD", ROOT / "build/release"))
LIMIT = 64 << 20
# The tests that run executables for whole inputs.
TESTS = ["test/python/compiler/execution", "test/python/compiler/test_cuda_execution.py"]
SCRIPTS = "run machine cases benchmark frameworks jax_layers torch_layers".split()


def run_tests(folder, expression, arch):
    environment = {
        **os.environ,
        "SHOAL_PACK_CASES": str(folder),
        "SHOAL_PACK_ARCH": arch,
        "SHOAL_TEST_TARGET": "cpu",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
    if expression:
        command += ["-k", expression]
    return subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, check=False).returncode


def compile_benchmark(folder, arch, tiny=False):
    """The programs of layers.py and, in index.json, what each of them is."""
    sys.path.append(str(BUILD / "python"))  # training steps are imported from JAX
    import layers

    folder.mkdir(parents=True)
    index = {}
    for name, (text, record) in layers.programs(tiny).items():
        source = folder / f"{name}.mlir"
        source.write_text(text)
        command = [BUILD / "bin/shoalc", source, "-o", folder / name, "--target=cuda", f"--cuda-arch={arch}"]
        subprocess.run(command, stdin=subprocess.DEVNULL, check=True)
        index[name] = record
    (folder / "index.json").write_text(json.dumps(index, indent=2) + "\n")


def copy_libraries(folder, arch, nccl):
    """All that programs load, but the driver and cuBLASLt."""
    bundle.copy_mpi(folder / "mpi")
    # Which libraries a program needs is the same for all.
    bundle.copy_dependencies([folder / "benchmark" / "product"], folder / "mpi" / "lib")
    if arch == "emulated":
        bundle.copy_emulation(BUILD / "lib/libshoal_cuda_emulation.so", folder / "emulation")
        return
    bundle.copy_cuda_runtime(folder / "cuda")
    if nccl:
        bundle.copy_nccl(nccl, folder / "nccl", arch)
    else:
        print("no nvidia-nccl-cu13 here: the pack has no NCCL, several ranks run by the machine's", file=sys.stderr)


def drop_unused(folder):
    """Programs that no kept case runs: tests also compile without running, or to other files."""
    used = {json.loads(path.read_text())["program"] for path in folder.glob("cases/*/case.json")}
    for path in (folder / "programs").iterdir():
        if path.name not in used:
            path.unlink()


def check_kernels(arch):
    """Exits where the build's runtime has no kernels for the GPU."""
    setting = next(
        line.partition("=")[2]
        for line in (BUILD / "CMakeCache.txt").read_text().splitlines()
        if line.startswith("SHOAL_CUDA_KERNEL_ARCHS:")
    )
    built = [int(number) for number in setting.split(";")]
    wanted = int(arch.removeprefix("sm_").rstrip("a"))
    # Of the last one there is PTX, which newer GPUs compile.
    if wanted not in built and wanted < built[-1]:
        sys.exit(
            f"{BUILD} has the runtime's kernels for sm_{setting.replace(';', ', sm_')}, not for {arch}:"
            f" configure it with -DSHOAL_CUDA_KERNEL_ARCHS={wanted} and build shoal_rt_cuda"
        )


def fill(folder, options):
    """Makes the folder that is packed. Exits where a test fails: its result may be wrong."""
    if options.arch != "emulated":
        check_kernels(options.arch)
    folder.mkdir()
    if code := run_tests(folder, options.expression, options.arch):
        sys.exit(f"the tests failed with exit code {code}: nothing is packed")
    drop_unused(folder)
    compile_benchmark(folder / "benchmark", options.arch, tiny=options.arch == "emulated")
    programs = list((folder / "programs").iterdir())
    programs += [path for path in (folder / "benchmark").iterdir() if not path.suffix]
    subprocess.run(["strip", *programs], check=True)
    copy_libraries(folder, options.arch, options.nccl)
    for script in SCRIPTS:
        shutil.copy(ROOT / "tools/gpu-check" / f"{script}.py", folder)


def archive(folder, output, preset):
    """One archive; programs share most of their bytes, which a long window finds."""
    with open(output, "wb") as stream:
        tar = subprocess.Popen(["tar", "-C", folder.parent, "-c", folder.name], stdout=subprocess.PIPE)
        subprocess.run(["xz", f"--lzma2=preset={preset},dict=128MiB"], stdin=tar.stdout, stdout=stream, check=True)
        if tar.wait() != 0:
            sys.exit(f"tar failed: {output} is not whole")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", required=True)
    parser.add_argument("-k", dest="expression", default="")
    parser.add_argument("--arch", default="sm_90", help="emulated to try the pack without a GPU")
    parser.add_argument("--nccl", type=Path, default=bundle.find_nccl(), help="a libnccl.so.2 to carry")
    options = parser.parse_args()
    # What is ended leaves no folder and no test behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "gpu-check"
        fill(folder, options)
        archive(folder, options.output, preset=0 if options.arch == "emulated" else 4)
    size = Path(options.output).stat().st_size
    packed = f"{options.output}: {size / (1 << 20):.1f} MiB"
    if size > LIMIT:
        sys.exit(f"{packed} is more than {LIMIT >> 20} MiB: choose fewer tests with -k")
    print(packed)


if __name__ == "__main__":
    main()
