// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// main() of every executable for the CPU.

#include "../Common/Run.h"
#include "HostTarget.h"

#include <cstdlib>

// OpenBLAS alone has it; another BLAS keeps its own default.
// NOLINTNEXTLINE(readability-identifier-naming)
extern "C" void openblas_set_num_threads(int) __attribute__((weak));

using namespace shoal::rt;

/// A rank is a device: it keeps to one core unless its user says otherwise.
static void limitThreads() {
  if (openblas_set_num_threads && !std::getenv("OPENBLAS_NUM_THREADS") &&
      !std::getenv("OMP_NUM_THREADS"))
    openblas_set_num_threads(1);
}

int main(int argc, char **argv) {
  limitThreads();
  HostTarget target;
  return runProgram(argc, argv, target);
}
