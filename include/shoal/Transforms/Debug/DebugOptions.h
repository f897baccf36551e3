// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Options of tools for who works on passes.

#ifndef SHOAL_TRANSFORMS_DEBUG_DEBUGOPTIONS_H
#define SHOAL_TRANSFORMS_DEBUG_DEBUGOPTIONS_H

namespace shoal {

/// To be called in front of the command line's parsing:
///
///   --shoal-statistics   what passes counted, on stderr at the end. MLIR's
///                        --mlir-pass-statistics would need an LLVM that was
///                        built with assertions, which Debian's is not.
///   --debug-only=T,...   what passes decide (LDBG), by their DEBUG_TYPE, the
///                        pass's flag; T:2 tells more. In builds with
///                        assertions alone, as the lines are in these only;
///                        LLVM's own option where LLVM has it.
void registerDebugOptions();

} // namespace shoal

#endif // SHOAL_TRANSFORMS_DEBUG_DEBUGOPTIONS_H
