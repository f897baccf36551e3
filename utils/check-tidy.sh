#!/usr/bin/env bash
# Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Runs clang-tidy-22 (.clang-tidy) over the .cpp files of lib/, tools/ and python/; see
# check-tidy.py for the options.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/env.sh"
exec "$SHOAL_PYTHON" "$SHOAL_ROOT/utils/check-tidy.py" --build "$SHOAL_BUILD" --jobs "$SHOAL_JOBS" "$@"
