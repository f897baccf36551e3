// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_TOOLS_SHOAL_LSP_SERVER_INLAYHINTS_H
#define SHOAL_TOOLS_SHOAL_LSP_SERVER_INLAYHINTS_H

#include "llvm/Support/JSON.h"

namespace shoal {

/// What a device sends for each line of a program, behind the line, as the
/// InlayHint objects of the protocol: bytes in all runs, and with a machine
/// file the simulated seconds. None of a program that does not compile.
llvm::json::Array makeInlayHints(llvm::StringRef text,
                                 llvm::StringRef machineFile);

} // namespace shoal

#endif // SHOAL_TOOLS_SHOAL_LSP_SERVER_INLAYHINTS_H
