// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What becomes of a program's results.

#ifndef SHOAL_RUN_OUTPUTS_H
#define SHOAL_RUN_OUTPUTS_H

#include "shoal/Reference/Signature.h"

namespace shoal::run {

/// Writes <name>.npy into the folder, which is made if need be.
llvm::LogicalResult writeResults(const reference::Signature &signature,
                                 llvm::ArrayRef<reference::Tensor> results,
                                 const std::string &directory);

/// One line a result: "y: tensor<2x2xf32> = [[1, 2], [3, 4]]", at most `limit`
/// elements.
void printResults(const reference::Signature &signature,
                  llvm::ArrayRef<reference::Tensor> results, int64_t limit);

/// All elements of each device's shard: "y on device 0: ...".
void printShards(const reference::Signature &signature,
                 llvm::ArrayRef<reference::GridValue> results);

} // namespace shoal::run

#endif // SHOAL_RUN_OUTPUTS_H
