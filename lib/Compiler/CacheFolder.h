// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Files of a cache, without a word of what is in them.

#ifndef SHOAL_LIB_COMPILER_CACHEFOLDER_H
#define SHOAL_LIB_COMPILER_CACHEFOLDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace shoal {

/// Of all the parts, in hexadecimal.
std::string digestOf(llvm::ArrayRef<llvm::StringRef> parts);

/// Makes the folder where it is not there, for this user alone; an error where
/// others could write to it, or it belongs to another user.
llvm::Error prepareCacheFolder(llvm::StringRef folder);

/// The name of a key's file.
std::string cacheEntryPath(llvm::StringRef folder, llvm::StringRef key);

/// The members of a file.
struct CacheEntry {
  llvm::StringMap<llvm::StringRef> members;
  std::unique_ptr<llvm::MemoryBuffer> file;
};

/// Reads a file, which has been used then; nothing where there is none, or it
/// is not as it was written.
std::optional<CacheEntry> readCacheEntry(llvm::StringRef path);

struct CacheMember {
  llvm::StringRef name, contents;
};

/// Puts a file in place once it is whole, and removes those that were used
/// longest ago while there are too many bytes.
llvm::Error writeCacheEntry(llvm::StringRef path,
                            llvm::ArrayRef<CacheMember> members);

} // namespace shoal

#endif // SHOAL_LIB_COMPILER_CACHEFOLDER_H
