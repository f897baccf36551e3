// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// How the tool reports what its user can fix.

#ifndef SHOAL_RUN_ERROR_H
#define SHOAL_RUN_ERROR_H

#include "llvm/ADT/Twine.h"
#include "llvm/Support/LogicalResult.h"
#include "llvm/Support/WithColor.h"

namespace shoal::run {

/// Prints one line on stderr.
inline llvm::LogicalResult error(const llvm::Twine &message) {
  llvm::WithColor::error(llvm::errs(), "shoal-run") << message << "\n";
  return llvm::failure();
}

} // namespace shoal::run

#endif // SHOAL_RUN_ERROR_H
