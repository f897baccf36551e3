#!/usr/bin/env bash
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs what stands on JAX with another version of it, which may need another Python than Debian's:
#
#   test-jax.sh 0.12 python3.13              all of it, and the conformance programs
#   test-jax.sh 0.12 python3.13 PYTEST...    pytest with these arguments
#   test-jax.sh 0.12 python3.13 -- COMMAND   a command, with the environment's python first in PATH
#
# Makes a virtual environment in .cache/jax-VERSION, and the package's module for that Python beside those of
# others in $SHOAL_BUILD, which is built already. The next build is for .venv's again.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
cd "$SHOAL_ROOT"

[ $# -ge 2 ] || shoal_die "usage: test-jax.sh VERSION PYTHON [PYTEST ARGUMENTS | -- COMMAND]"
readonly VERSION="$1" BASE="$2" VENV="$SHOAL_ROOT/.cache/jax-$1"
shift 2

# What the tests and programs below import; the bounds are install-deps.sh's and pyproject.toml's.
readonly PACKAGES=(
  "jax==$VERSION.*" "numpy>=1.24,<3" "ml_dtypes>=0.4,<1" "optree>=0.17,<1" "google-crc32c>=1.5,<2"
  "optax>=0.2.8,<0.3" "flax>=0.12,<0.13" "mpi4py>=4,<5" "safetensors>=0.6,<1"
  "nanobind>=3,<4" "pytest>=7,<9" "pytest-xdist>=3,<4" "tqdm>=4.60,<5" "tokenizers>=0.21,<1"
)

install() {
  "$VENV/bin/python" -c "import jax, pytest, nanobind; assert jax.__version__.startswith('$VERSION.')" 2>/dev/null && return
  shoal_step "JAX $VERSION for $BASE in $VENV"
  "$BASE" -m venv --clear "$VENV"
  "$VENV/bin/python" -m pip install -q --disable-pip-version-check "${PACKAGES[@]}" ||
    shoal_die "pip could not install JAX $VERSION for $BASE"
}

build_module() {
  local suffix
  suffix="$("$VENV/bin/python" -c "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX'))")"
  [ "$SHOAL_BUILD/python/shoal/_native$suffix" -nt "$SHOAL_BUILD/bin/shoalc" ] && return
  SHOAL_PYTHON="$VENV/bin/python" shoal_build shoal_native
}

install
build_module
export PATH="$VENV/bin:$PATH" PYTHONPATH="$SHOAL_BUILD/python" SHOAL_PYTHON="$VENV/bin/python"
if [ "${1:-}" = -- ]; then
  shift
  exec "$@"
fi
readonly PYTEST=(python -m pytest -q -rs -p no:cacheprovider)
[ $# -eq 0 ] || exec "${PYTEST[@]}" "$@"
"${PYTEST[@]}" -n "$SHOAL_JOBS" --dist loadfile test/python/jax test/python/moe/test_moe_worlds.py \
  test/python/models/test_models_worlds.py test/python/train/test_train_worlds.py \
  test/python/optim/test_optim_worlds.py test/python/package/test_jax_private.py
python test/conformance/conformance.py --no-xla
