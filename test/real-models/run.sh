#!/usr/bin/env bash
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Installs models of JAX's libraries in .cache/real-models where they are not there
# yet, and runs them all, or those of run.py's arguments:
#
#   test/real-models/run.sh --filter '^tunix/'
#   test/real-models/run.sh --write-docs             # docs/results/RealModels.md
#
# SHOAL_BUILD names the build whose tools are run (default: build/release).
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../utils/env.sh"

readonly HERE="$SHOAL_ROOT/test/real-models"
readonly VENV="$SHOAL_ROOT/.cache/real-models"

# Of the Python that the build's module is for. The list lies in the environment
# once all of it is installed.
install() {
  cmp -s "$HERE/requirements.txt" "$VENV/requirements.txt" && return
  shoal_step "installing models' libraries in $VENV"
  "$SHOAL_PYTHON" -m venv --clear "$VENV"
  "$VENV/bin/pip" install -q --disable-pip-version-check --no-deps -r "$HERE/requirements.txt" ||
    shoal_die "pip could not install $HERE/requirements.txt"
  cp "$HERE/requirements.txt" "$VENV/"
}

[ -x "$SHOAL_BUILD/bin/shoalc" ] ||
  shoal_die "no compiler in $SHOAL_BUILD: build it, or set SHOAL_BUILD"
install
exec "$VENV/bin/python" -W ignore "$HERE/run.py" "$@"
