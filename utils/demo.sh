#!/usr/bin/env bash
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# From a fresh clone to GShard's MoE layer on 4 devices: installs the packages,
# builds the compiler, compiles the example, runs it under mpirun and checks it.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"

"$SHOAL_ROOT/utils/install-deps.sh" --build
shoal_build shoalc shoal-run
shoal_step "examples/moe_layer on 4 devices"
"$SHOAL_PYTHON" "$SHOAL_ROOT/examples/moe_layer/run.py" "$@"
printf '\nInputs, results and statistics are in out/moe_layer.\n'
