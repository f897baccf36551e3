// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Blocks of a tensor that become addends of it.

#ifndef SHOAL_LIB_SHARDING_BLOCKADDENDS_H
#define SHOAL_LIB_SHARDING_BLOCKADDENDS_H

#include "shoal/Sharding/Sharding.h"
#include <optional>

namespace shoal {

/// Where a value is before its last step to `target`, to_partial, where that is
/// partial over axes that split `source`: each device along them puts its block
/// among zeros, and nothing is sent. Blocks that do not nest in the target's
/// are gathered before. Nothing where no such axis splits `source`.
///
///   [{"x"}, {"y"}] -> [{"y"}, {}] partial over "x": from [{"y", "x"}, {}]
std::optional<Sharding> blocksBeforeAddends(llvm::ArrayRef<int64_t> shape,
                                            const Sharding &source,
                                            const Sharding &target,
                                            const Mesh &mesh);

} // namespace shoal

#endif // SHOAL_LIB_SHARDING_BLOCKADDENDS_H
