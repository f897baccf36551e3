// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Error.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mpi.h>

namespace shoal::emulation {

void explain(const std::string &message) {
  std::string line = "emulated device: " + message + "\n";
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
}

void fail(const std::string &message) {
  explain(message);
  std::fflush(stdout);
  int started = 0, ended = 0;
  MPI_Initialized(&started);
  MPI_Finalized(&ended);
  if (started && !ended)
    MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

int64_t environmentNumber(const char *name, int64_t otherwise) {
  const char *value = std::getenv(name);
  if (!value || !*value)
    return otherwise;
  int64_t number = 0;
  const char *end = value + std::strlen(value);
  auto [rest, error] = std::from_chars(value, end, number);
  if (error != std::errc() || rest != end)
    fail(text(name, ": expected a number but got '", value, "'"));
  return number;
}

} // namespace shoal::emulation
