// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The one meaning behind all_slice, all_gather and all_to_all.

#ifndef SHOAL_LIB_REFERENCE_EXCHANGE_H
#define SHOAL_LIB_REFERENCE_EXCHANGE_H

#include "shoal/Reference/DeviceGrid.h"
#include "shoal/Reference/ReferenceInterface.h"

namespace shoal::reference {

/// What happens to one dimension: the shards over `gathered` come together,
/// then the device keeps its own block over `split`.
struct DimExchange {
  DeviceGrid::Digits gathered, split;
};

/// Row r of a result dimension of size b, on the device with index t over
/// `split`, is row t * b + r of the shards of the dimension put one behind the
/// other in the order of `gathered`. Rows past their end are unspecified.
/// `resultType` is the local type, `dims` has an entry per dimension.
GridValue exchange(const DeviceGrid &grid, llvm::ArrayRef<DimExchange> dims,
                   const GridValue &input, const TensorType &resultType);

} // namespace shoal::reference

#endif // SHOAL_LIB_REFERENCE_EXCHANGE_H
