// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime library's main() wants a program; a test that links the library
// is none and brings its own.

#include "CPU/Threads.h"

#include <cstdlib>
#include <gtest/gtest.h>

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  // Even the smallest work is shared then.
  if (const char *threads = std::getenv("SHOAL_TEST_THREADS"))
    shoal::rt::setThreads(std::atoi(threads), /*least=*/1e-9);
  return RUN_ALL_TESTS();
}
