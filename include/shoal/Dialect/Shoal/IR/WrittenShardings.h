// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Annotations as the program spells them, for messages: unifying meshes writes
// them over the axes of the first mesh, which are not those that the user
// knows.
//
//   shoal.sharding_constraint %x <@attention, [{"cp", "tp"}]>
//       {shoal.written = ["<@experts, [{\22ep\22}]>"]}

#ifndef SHOAL_DIALECT_SHOAL_IR_WRITTENSHARDINGS_H
#define SHOAL_DIALECT_SHOAL_IR_WRITTENSHARDINGS_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace shoal {

/// The attribute: on an annotation an array with a string for each of its
/// shardings, of a region for one device those of operands, then of results; on
/// a function's argument or result a string.
inline constexpr llvm::StringLiteral kWrittenAttr = "shoal.written";

/// Notes how the shardings over `mesh` are written that the op, or the
/// function's arguments and results, are annotated with.
void keepWrittenShardings(mlir::Operation *op, mlir::FlatSymbolRefAttr mesh);

/// ` <@experts, [{"ep"}]>`, what was noted of the op's sharding `index`; empty
/// where nothing was.
std::string writtenSharding(mlir::Operation *op, unsigned index = 0);
std::string writtenArgument(mlir::FunctionOpInterface function, unsigned index);
std::string writtenResult(mlir::FunctionOpInterface function, unsigned index);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_WRITTENSHARDINGS_H
