// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The combiners of reductions, shared by reduce, cumulative and collectives.

#ifndef SHOAL_LIB_REFERENCE_COMBINER_H
#define SHOAL_LIB_REFERENCE_COMBINER_H

#include "shoal/Dialect/Shoal/IR/Shoal.h"
#include "shoal/Reference/DeviceGrid.h"
#include "shoal/Reference/ReferenceInterface.h"

namespace shoal::reference {

/// Combines elements of one type, as ReduceKind.h says. Sums and products run
/// in double (integers: modulo 2^64) and are brought to the element type once,
/// by finish().
class Combiner {
public:
  Combiner(ReduceKind kind, ElementType type) : kind(kind), type(type) {}

  Scalar identity() const;
  Scalar combine(Scalar a, Scalar b) const;
  Scalar finish(Scalar accumulated) const;

private:
  ReduceKind kind;
  ElementType type;
};

/// What every device has after an all_reduce over `digits`.
GridValue reduceGroups(ReduceKind kind, const DeviceGrid &grid,
                       llvm::ArrayRef<DeviceGrid::Digit> digits,
                       const GridValue &input);

/// IEEE 754-2019 maximum and minimum, the meaning of arith.maximumf/minimumf.
double maximum(double a, double b);
double minimum(double a, double b);

} // namespace shoal::reference

#endif // SHOAL_LIB_REFERENCE_COMBINER_H
