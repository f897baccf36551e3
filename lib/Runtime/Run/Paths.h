// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of a run, by which file each path means.

#ifndef SHOAL_LIB_RUNTIME_RUN_PATHS_H
#define SHOAL_LIB_RUNTIME_RUN_PATHS_H

#include "../Program/Program.h"
#include "Options.h"

#include <filesystem>

namespace shoal::rt {

/// What a path means at the end of its links, of which the last may mean a file
/// that is not there.
std::filesystem::path behindLinks(std::filesystem::path path);

/// The path of a result.
std::string outputPath(const std::string &dir, const Tensor &output);

/// Fails where the run would write to a file that it reads, or write two to one
/// file, however their paths are spelt. Opens and makes nothing.
Status checkPaths(const Program &program, const Options &options);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_RUN_PATHS_H
