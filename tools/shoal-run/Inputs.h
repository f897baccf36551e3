// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The global arrays that a program runs on.

#ifndef SHOAL_RUN_INPUTS_H
#define SHOAL_RUN_INPUTS_H

#include "shoal/Reference/Signature.h"

namespace shoal::run {

/// A tensor per argument: from `files`, "name=file.npy" each, or else random
/// from the seed. Prints an error for a name that no argument has, one given
/// twice, an argument without input, a file that does not hold the argument's
/// shape and type.
mlir::FailureOr<llvm::SmallVector<reference::Tensor>>
readInputs(const reference::Signature &signature,
           llvm::ArrayRef<std::string> files, std::optional<uint64_t> seed);

} // namespace shoal::run

#endif // SHOAL_RUN_INPUTS_H
