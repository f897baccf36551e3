// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The end of a program that cannot go on.

#ifndef SHOAL_LIB_RUNTIME_PROGRAM_FATAL_H
#define SHOAL_LIB_RUNTIME_PROGRAM_FATAL_H

#include <string>

namespace shoal::rt {

/// One line on stderr, then the end of this process, which takes the others
/// with it. For failures in the middle of a step only. `last` is called after
/// the line is out.
[[noreturn]] void fatal(const std::string &message, void (*last)() = nullptr);

/// What fatal calls before the process ends; MPI_Abort under MPI.
void setAbortHandler(void (*handler)());

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_PROGRAM_FATAL_H
