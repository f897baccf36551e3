# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How lit runs Shoal's tests. Paths come from the generated lit.site.cfg.py.
#
# Substitutions: shoal-opt, shoal-run, shoalc, shoal-fuzz, FileCheck, not
# and split-file are the built or installed tools; %mpirun starts ranks, also
# more than there are cores and also as root; %python; %shoal_src_root and
# %shoal_tools_dir.
#
# Features: `mpi` where mpirun is at hand; a tool's name where it is built;
# `cuda` where ptxas is at hand, `cuda-emulation` where the emulated device is;
# `sanitizers` in a sanitizer build, where measured times and memory say nothing;
# `asserts` where the tools are built with assertions, and so with LDBG lines.

import os
import shutil

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "Shoal"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Unit", "python", "benchmarks", "CMakeLists.txt"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.shoal_obj_root, "test")

for directory in (config.llvm_tools_dir, config.shoal_tools_dir):
    llvm_config.with_environment("PATH", directory, append_path=True)

shoal_tools = ["shoal-opt", "shoal-run", "shoalc", "shoal-fuzz", "shoal-lsp-server", "shoal-bench"]
llvm_config.add_tool_substitutions(
    [ToolSubst(tool, unresolved="ignore") for tool in shoal_tools],
    [config.shoal_tools_dir],
)
llvm_config.add_tool_substitutions(
    ["FileCheck", "not", "split-file"], [config.llvm_tools_dir]
)
for tool in shoal_tools:
    if os.path.exists(os.path.join(config.shoal_tools_dir, tool)):
        config.available_features.add(tool)

config.substitutions += [
    ("%python", config.python),
    ("%cxx", config.cxx),
    ("%shoal_src_root", config.shoal_src_root),
    ("%shoal_tools_dir", config.shoal_tools_dir),
]

# What assembles kernels for GPUs, and what runs them without one.
toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
if shutil.which("ptxas") or os.path.exists(os.path.join(toolkit, "bin", "ptxas")):
    config.available_features.add("cuda")
if os.path.exists(
    os.path.join(config.shoal_obj_root, "lib", "libshoal_cuda_emulation.so")
):
    config.available_features.add("cuda-emulation")
for variable in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]

# Programs of a sanitizer build are linked with the sanitizers' runtime. Leaks
# count in the tools; those of MPI's own are not ours to mend.
launch_environment = "OPENBLAS_NUM_THREADS=1 OMPI_MCA_pml=ob1"
if config.build_type == "Debug" and "-fsanitize=" in config.cxx_flags:
    config.available_features.add("sanitizers")
    flags = [flag for flag in config.cxx_flags.split() if "sanitize" in flag]
    config.environment["OMPI_CXX"] = " ".join([config.cxx] + flags)
    launch_environment += " ASAN_OPTIONS=detect_leaks=0"
for option in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS"):
    if option in os.environ:
        config.environment[option] = os.environ[option]

if config.build_type != "Release":
    config.available_features.add("asserts")

# Tests compile: only those of the cache itself turn it on, each in its folder.
config.environment["SHOAL_CACHE"] = "off"

# One BLAS thread a rank: the ranks already fill the cores.
if config.mpiexec and os.path.exists(config.mpiexec):
    config.available_features.add("mpi")
    config.substitutions.append(
        (
            "%mpirun",
            f"env {launch_environment} "
            f"{config.mpiexec} --allow-run-as-root --oversubscribe",
        )
    )
# A folder whose lit.local.cfg sets `config.parallelism_group = "mpi"` runs one
# test at a time.
lit_config.parallelism_groups["mpi"] = 1
