// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef SHOAL_LIB_COSTMODEL_FILLEDROWS_H
#define SHOAL_LIB_COSTMODEL_FILLEDROWS_H

#include "mlir/IR/Operation.h"

namespace shoal {

/// The part of the rows that an op has room for which it multiplies on average;
/// 1 where all are there.
///
/// Of a ragged product rows are missing for two reasons, which multiply. They
/// came from elsewhere: a collective brings fewer on average than it has room
/// for (CollectiveOpInterface). They are others' as well: their numbers say
/// where all groups begin and end among which rows are divided, and the product
/// has some of these groups, as where all devices gathered the same rows and
/// each multiplies those of its experts. Rows are divided evenly.
double filledPart(mlir::Operation *op);

} // namespace shoal

#endif // SHOAL_LIB_COSTMODEL_FILLEDROWS_H
