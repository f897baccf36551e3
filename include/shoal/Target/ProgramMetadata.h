// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a linked program says of itself, in its file.

#ifndef SHOAL_TARGET_PROGRAMMETADATA_H
#define SHOAL_TARGET_PROGRAMMETADATA_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace shoal {

/// The text of `shoal_program_metadata` in an executable or a shared library;
/// nothing where it is in neither.
std::optional<llvm::StringRef> readMetadata(llvm::StringRef file);

/// Writes another one in its place; false where there is no room for it.
bool replaceMetadata(std::string &file, llvm::StringRef text);

} // namespace shoal

#endif // SHOAL_TARGET_PROGRAMMETADATA_H
