// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Atoms of a mesh as they are written.

#ifndef SHOAL_SHARDING_MERGEAXES_H
#define SHOAL_SHARDING_MERGEAXES_H

#include "shoal/Sharding/Mesh.h"

namespace shoal {

/// The axes of the list with neighbouring parts of one axis put together.
llvm::SmallVector<MeshAxis, 2> mergeAxes(llvm::ArrayRef<AxisId> axes,
                                         const Mesh &mesh);

} // namespace shoal

#endif // SHOAL_SHARDING_MERGEAXES_H
