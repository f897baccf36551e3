// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Inputs whose memory the program may use.

#ifndef SHOAL_DIALECT_SHOAL_IR_DONATION_H
#define SHOAL_DIALECT_SHOAL_IR_DONATION_H

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace shoal {

/// Unit, on an argument: the caller gives it away, and the program may write
/// over it. A result of the same type and sharding may be made there.
inline constexpr llvm::StringLiteral kDonatedAttr = "shoal.donated";
/// On a function, by result: the argument in whose memory it is made, or -1.
inline constexpr llvm::StringLiteral kDonorsAttr = "shoal.donors";

/// For each result of a per-device function the donated argument that suits it,
/// or -1: one that is returned as it is, else the first that is left with the
/// same types and the same sharding. An argument suits one result.
llvm::SmallVector<int64_t> findDonors(mlir::FunctionOpInterface function);

/// The same of a global program, whose shardings are not chosen: annotations do
/// not contradict each other. Where these get the same sharding, the result is
/// made in the donor, and a loop that hands it on moves nothing.
llvm::SmallVector<int64_t> findLikelyDonors(mlir::FunctionOpInterface function);

} // namespace shoal

#endif // SHOAL_DIALECT_SHOAL_IR_DONATION_H
