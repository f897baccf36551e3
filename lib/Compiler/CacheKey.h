// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What a compiled program depends on.

#ifndef SHOAL_LIB_COMPILER_CACHEKEY_H
#define SHOAL_LIB_COMPILER_CACHEKEY_H

#include "shoal/Compiler/Driver.h"
#include "llvm/ADT/StringRef.h"

namespace shoal {

/// A digest, in hexadecimal, of all that can change the files or the texts that
/// compiling a program with `options` makes: its name, as messages and
/// collectives name places in it, and its text without those of the user's
/// source (`separatePlaces`); options; the compiler, LLVM, the
/// runtime's libraries and the linker, by their files' sizes and times, as
/// ccache takes a compiler; the contents of files to link; the processor; and
/// what of the environment the linker reads.
std::string makeCacheKey(llvm::StringRef name, llvm::StringRef text,
                         const DriverOptions &options);

} // namespace shoal

#endif // SHOAL_LIB_COMPILER_CACHEKEY_H
