// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_COSTMODEL_SCALAROPERATIONS_H
#define SHOAL_COSTMODEL_SCALAROPERATIONS_H

#include "mlir/IR/Operation.h"

namespace shoal {

/// Scalar operations of what an op computes in loops of the program's own: its
/// regions' arithmetic, as often as it runs; an exponential counts as several.
/// A loop of unknown length counts once. Of a call of the runtime what the call
/// says.
double countScalarOperations(mlir::Operation *op);

} // namespace shoal

#endif // SHOAL_COSTMODEL_SCALAROPERATIONS_H
