// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the emulated device reports what a GPU would leave undefined. Errors that
// the CUDA libraries report come back as their status instead.

#ifndef SHOAL_TEST_EMULATION_ERROR_H
#define SHOAL_TEST_EMULATION_ERROR_H

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>

namespace shoal::emulation {

/// The texts of all arguments one after another.
template <typename... Parts>
std::string text(const Parts &...parts) {
  std::ostringstream stream;
  (stream << ... << parts);
  return stream.str();
}

/// One line on stderr, "emulated device: ...", then the end of this process,
/// and of the other ranks if MPI runs.
[[noreturn]] void fail(const std::string &message);

/// One line on stderr beside a status that says less.
void explain(const std::string &message);

/// The number in an environment variable, else `otherwise`. Not a number: ends
/// the program.
int64_t environmentNumber(const char *name, int64_t otherwise);

/// Of the emulated device: 90 for sm_90, or SHOAL_EMULATED_CAPABILITY.
int computeCapability();

} // namespace shoal::emulation

#endif // SHOAL_TEST_EMULATION_ERROR_H
