# shellcheck shell=bash
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Sourced by the other scripts here: where things are, and how MPI programs
# run on a small machine.

SHOAL_ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
SHOAL_BUILD="${SHOAL_BUILD:-$SHOAL_ROOT/build/release}"
SHOAL_JOBS="${SHOAL_JOBS:-$(nproc)}"
SHOAL_PYTHON="$SHOAL_ROOT/.venv/bin/python"
export SHOAL_ROOT SHOAL_BUILD SHOAL_JOBS SHOAL_PYTHON

# More ranks than cores is the normal case here, and containers run as root.
export OMPI_ALLOW_RUN_AS_ROOT=1
export OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none
# Half of a start goes into looking for ways to send of clusters otherwise.
export OMPI_MCA_pml=ob1
# Waiting ranks give their core to the ones that compute.
export OMPI_MCA_mpi_yield_when_idle=1
# Containers often forbid the single-copy system call; shared memory remains.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
# Many ranks share few cores here: one thread for each, but where a test says
# otherwise.
export SHOAL_NUM_THREADS="${SHOAL_NUM_THREADS:-1}"
# Threads of ours call BLAS, and none of its own are started.
export OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}"

# What tests, checks and benchmarks compile is compiled.
export SHOAL_CACHE="${SHOAL_CACHE:-off}"

# H100's, for which programs are compiled where nothing else is said.
SHOAL_TESTED_CUDA_ARCH=90

export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime

shoal_step() { printf '\n==> %s\n' "$*"; }
shoal_die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# ninja with its own status line on a terminal; elsewhere, as in CI's logs, with
# a line for every tenth of the work, and all that compilers say.
shoal_ninja() {
  if [[ -t 1 ]]; then
    NINJA_STATUS="[%f/%t, %es] " ninja "$@"
    return
  fi
  NINJA_STATUS="@%f %t %e " ninja "$@" | awk '
    /^@/ {
      done = substr($1, 2)
      if (done * 10 >= next_tenth * $2) {
        printf "  %d of %d steps, %d s\n", done, $2, $3
        next_tenth = int(done * 10 / $2) + 1
        fflush()
      }
      next
    }
    { print; fflush() }' next_tenth=1
  return "${PIPESTATUS[0]}"
}

# Configures and builds in $SHOAL_BUILD: the targets that are named, or
# everything, and then nothing may be missing that tests need.
shoal_build() {
  local settings=()
  if [ $# -eq 0 ]; then
    settings=(-DSHOAL_TESTS=ON -DSHOAL_PYTHON_REQUIRED=ON)
    # Here kernels for GPUs only have to compile; packages have all architectures'.
    settings+=("-DSHOAL_CUDA_KERNEL_ARCHS=$SHOAL_TESTED_CUDA_ARCH")
  fi
  shoal_step "building in $SHOAL_BUILD with $SHOAL_JOBS jobs"
  mkdir -p "$SHOAL_ROOT/build"
  cmake --preset release -S "$SHOAL_ROOT" -B "$SHOAL_BUILD" -DPython3_EXECUTABLE="$SHOAL_PYTHON" \
    "${settings[@]}" >"$SHOAL_ROOT/build/configure.log" 2>&1 || {
    cat "$SHOAL_ROOT/build/configure.log" >&2
    shoal_die "configuring failed"
  }
  shoal_ninja -C "$SHOAL_BUILD" -j "$SHOAL_JOBS" "$@" || shoal_die "the build failed"
}
