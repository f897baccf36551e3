// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_RUNTIME_CPU_REDUCTIONS_H
#define SHOAL_LIB_RUNTIME_CPU_REDUCTIONS_H

#include "../Program/Numeric.h"

#include <mpi.h>

namespace shoal::rt {

/// How MPI is to combine elements.
struct Reduction {
  MPI_Datatype type;
  MPI_Op op;
};

/// MPI's own operators where they mean what shoal_rt_kind means, which leaves
/// out max and min of floats (NaN), the small floats and i1.
Reduction reductionFor(ElementType type, Kind kind);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_CPU_REDUCTIONS_H
