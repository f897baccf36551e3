// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The folder of programs that were compiled before.
//
// It holds a file for each, an `ar` archive that is named by all that the
// program was made of. Files are written under other names first, and checked
// when they are read: many processes may use a folder at the same time, and
// damaged files are made again. What was used longest ago goes first once they
// need more than kCacheBytes. Programs are code: a folder that somebody else
// could write to is not used.

#ifndef SHOAL_COMPILER_CACHE_H
#define SHOAL_COMPILER_CACHE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>

namespace shoal {

inline constexpr int64_t kCacheBytes = int64_t(1) << 30;

/// The environment's SHOAL_CACHE, a folder; or "shoal" in the user's folder for
/// caches, XDG_CACHE_HOME or ~/.cache. Empty for SHOAL_CACHE=off, and where the
/// user has no folder.
std::string findCacheDirectory();

/// Removes all programs; how many there were. Errors name the file.
llvm::Expected<int64_t> clearCache(llvm::StringRef folder);

} // namespace shoal

#endif // SHOAL_COMPILER_CACHE_H
