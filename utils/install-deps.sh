#!/usr/bin/env bash
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs on Debian 12 what Shoal needs: Debian packages and a Python virtual
# environment in .venv. Does nothing where all of it is there already.
#
#   install-deps.sh           to build, to run every example and test, to change Shoal
#   install-deps.sh --build   to build the tools and run their programs, no more
#
# SHOAL_NODE_TESTS=1 also installs what tests on several nodes need, SHOAL_TORCH=1
# torch, transformers and accelerate, several GB, without which tests of shoal.torch step aside.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

# Compiler, linker and build tools; the libraries that Shoal stands on; the
# sentences of the examples. With Boost.Context come the headers of all of
# Boost, of which the compiler uses Boost.Graph's.
PACKAGES=(
  clang-22 lld-22 cmake ninja-build g++ git
  libmlir-22-dev mlir-22-tools llvm-22-dev zlib1g-dev
  openmpi-bin libopenmpi-dev libopenblas-dev libdnnl-dev nlohmann-json3-dev
  libtomlplusplus-dev
  libboost-context-dev libkissfft-dev
  python3 python3-dev python3-venv python3-pip
  iso-codes
)
PYTHON_PACKAGES=("numpy>=1.24,<3")
# Of what is in .venv, as it is imported.
PYTHON_MODULES=(numpy)

case "${1:-}" in
--build) ;;
"")
  PACKAGES+=(
    clang-format-22 clang-tidy-22 ccache llvm-22-tools
    libgtest-dev libgmock-dev procps
    # Tests of the report's page.
    chromium chromium-driver
  )
  # Tests on several nodes, which are namespaces of one machine, step aside without these; an sshd
  # is not installed unasked.
  if [ -n "${SHOAL_NODE_TESTS:-}" ]; then
    PACKAGES+=(openssh-server iproute2 munge slurmctld slurmd slurm-client slurm-wlm-basic-plugins)
  fi
  PYTHON_PACKAGES+=(
    "pytest>=7,<9" "pytest-xdist>=3,<4" "selenium>=4,<5"
    # Whose solver of integer programs shardings are compared with.
    "scipy>=1.11,<2"
    # What optimisers are compared with.
    "optax>=0.2.8,<0.3"
    # What training shows and logs with, where it is there.
    "tqdm>=4.60,<5" "tensorboardX>=2.6,<3"
    # What examples/translation makes tokens and draws plots with.
    "tokenizers>=0.21,<1" "matplotlib>=3.7,<4"
    # What runs the tutorials' notebooks, and what one of them trains.
    "nbclient>=0.10,<1" "ipykernel>=6,<8" "flax>=0.12,<0.13"
    # The package `shoal`: what builds it, what it needs, and what it imports from.
    "scikit-build-core>=1,<2" "nanobind>=3,<4" "optree>=0.17,<1" "mpi4py>=4,<5" "jax==0.10.2"
    # Checksums of checkpoints, and the package that reads these, too.
    "google-crc32c>=1.5,<2" "safetensors>=0.6,<1"
  )
  PYTHON_MODULES+=(
    pytest xdist selenium scipy optax tqdm tensorboardX tokenizers matplotlib nbclient ipykernel flax
    scikit_build_core nanobind optree mpi4py jax google_crc32c safetensors
  )
  if [ -n "${SHOAL_TORCH:-}" ]; then
    # With what transformers distributes its models by, and torch's table of ops needs.
    PYTHON_PACKAGES+=("torch>=2.15,<2.16" "transformers>=5.24,<6" "accelerate>=1,<2" expecttest)
    PYTHON_MODULES+=(torch transformers accelerate expecttest)
  fi
  ;;
*) shoal_die "usage: install-deps.sh [--build]" ;;
esac

missing_packages() {
  local package
  for package in "${PACKAGES[@]}"; do
    dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || echo "$package"
  done
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo --preserve-env=DEBIAN_FRONTEND "$@"
  else
    shoal_die "installing Debian packages needs root or sudo: $*"
  fi
}

install_packages() {
  command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
    shoal_die "apt-get not found: Shoal is set up for Debian 12; elsewhere install MLIR 22, OpenMPI and OpenBLAS by hand"
  local missing
  mapfile -t missing < <(missing_packages)
  [ "${#missing[@]}" -eq 0 ] && return
  shoal_step "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  as_root apt-get update -qq ||
    shoal_die "apt-get update failed: is the network up?"
  as_root apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    shoal_die "apt-get could not install: ${missing[*]}"
}

# The first interpreter that can make a working environment; Debian's own
# comes first, as python3-venv belongs to it.
create_venv() {
  local python
  for python in /usr/bin/python3 python3; do
    "$python" -m venv --clear "$SHOAL_ROOT/.venv" >/dev/null 2>&1 && return
  done
  shoal_die "no python3 can create a virtual environment in $SHOAL_ROOT/.venv"
}

install_python() {
  local modules="${PYTHON_MODULES[*]}"
  "$SHOAL_PYTHON" -c "import ${modules// /, }" 2>/dev/null && return
  shoal_step "installing into .venv ${PYTHON_PACKAGES[*]}"
  # What is there stays: other processes may run on it.
  "$SHOAL_PYTHON" -m pip --version >/dev/null 2>&1 || create_venv
  "$SHOAL_PYTHON" -m pip install -q --disable-pip-version-check "${PYTHON_PACKAGES[@]}" ||
    shoal_die "pip could not install: ${PYTHON_PACKAGES[*]}"
}

install_packages
install_python
