// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Values of a region that is written for one device along some axes.
//
// Their shardings do not name these axes, which elsewhere would say that all
// devices along them hold the same. Here each holds a tensor of its own, and
// nothing may be fetched from one in place of another. As one tensor they have
// a dimension more, in front, with a row for each device along the manual axes
// and split over them. What is planned and priced for that tensor keeps them
// apart.
//
//   tensor<6x4xf32> <@mesh, [{"a"}, {}]> where "m" = 2 is manual
//   tensor<2x6x4xf32> <@mesh, [{"m"}, {"a"}, {}]>

#ifndef SHOAL_SHARDING_MANUALAXES_H
#define SHOAL_SHARDING_MANUALAXES_H

#include "shoal/Sharding/Sharding.h"

namespace shoal {

/// The shape of all devices' tensors as one; `shape` where no axis is manual.
llvm::SmallVector<int64_t> withManualDim(llvm::ArrayRef<int64_t> shape,
                                         const AxisList &manualAxes,
                                         const Mesh &mesh);
/// The sharding of that tensor; `sharding` where no axis is manual.
Sharding withManualDim(Sharding sharding, const AxisList &manualAxes);

/// The inverse.
Sharding withoutManualDim(Sharding sharding, const AxisList &manualAxes);

} // namespace shoal

#endif // SHOAL_SHARDING_MANUALAXES_H
