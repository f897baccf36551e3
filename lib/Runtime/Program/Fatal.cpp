// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Fatal.h"

#include <cstdio>
#include <cstdlib>

namespace shoal::rt {

static void (*abortHandler)() = nullptr;

void setAbortHandler(void (*handler)()) { abortHandler = handler; }

void fatal(const std::string &message, void (*last)()) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  std::fflush(stderr);
  if (last)
    last();
  if (abortHandler)
    abortHandler();
  std::_Exit(1);
}

} // namespace shoal::rt
