#!/usr/bin/env bash
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs models of JAX's libraries in .cache/real-models where they are not there
# yet, and runs them all, or those of run.py's arguments:
#
#   test/real-models/run.sh --filter '^tunix/'
#   test/real-models/run.sh --write-docs             # docs/results/RealModels.md
#   test/real-models/run.sh --jax 0.12 python3.13 --no-xla
#
# With --jax VERSION PYTHON first they are the same libraries with another version of
# JAX, but for what requirements-VERSION.txt says, in .cache/real-models-VERSION, for a
# Python that this version runs on.
#
# SHOAL_BUILD names the build whose tools are run (default: build/release).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../utils/env.sh"

readonly HERE="$SHOAL_ROOT/test/real-models"
VENV="$SHOAL_ROOT/.cache/real-models"
OTHERS=/dev/null
JAX=
if [ "${1:-}" = --jax ]; then
  [ $# -ge 3 ] || shoal_die "usage: run.sh [--jax VERSION PYTHON] [ARGUMENTS OF run.py]"
  JAX="$2" SHOAL_PYTHON="$3" VENV="$VENV-$2"
  shift 3
  OTHERS="$HERE/requirements-$JAX.txt"
  [ -e "$OTHERS" ] || shoal_die "no $OTHERS"
  [[ " $* " != *" --write-docs "* ]] || shoal_die "the page is of the JAX of requirements.txt"
fi

# The list, with the lines in place of its own that another JAX asks for.
requirements() {
  awk -F== 'FILENAME == ARGV[1] { if ($2) other[$1] = $0; next } $1 in other { $0 = other[$1] } 1' \
    "$OTHERS" "$HERE/requirements.txt"
}

# Of the Python that the build's module is for. The list lies in the environment
# once all of it is installed.
install() {
  requirements | cmp -s - "$VENV/requirements.txt" && return
  shoal_step "installing models' libraries in $VENV"
  "$SHOAL_PYTHON" -m venv --clear "$VENV"
  "$VENV/bin/pip" install -q --disable-pip-version-check --no-deps -r <(requirements) ||
    shoal_die "pip could not install $HERE/requirements.txt"
  requirements >"$VENV/requirements.txt"
}

[ -x "$SHOAL_BUILD/bin/shoalc" ] ||
  shoal_die "no compiler in $SHOAL_BUILD: build it, or set SHOAL_BUILD"
# Which builds the package's module for that Python.
[ -z "$JAX" ] || "$SHOAL_ROOT/utils/test-jax.sh" "$JAX" "$SHOAL_PYTHON" -- true
install
exec "$VENV/bin/python" -W ignore "$HERE/run.py" "$@"
