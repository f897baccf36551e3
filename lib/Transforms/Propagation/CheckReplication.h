// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Nothing is gathered whole in silence.

#ifndef SHOAL_LIB_TRANSFORMS_PROPAGATION_CHECKREPLICATION_H
#define SHOAL_LIB_TRANSFORMS_PROPAGATION_CHECKREPLICATION_H

#include "Extract.h"

namespace shoal {

/// On an op or an argument: its value may be gathered whole on every device
/// however large it is.
inline constexpr llvm::StringLiteral kAllowReplicatedAttr =
    "shoal.allow_replicated";

struct ReplicationLimits {
  /// The largest tensor that may come to every device whole; negative for any.
  int64_t maxBytes = -1;
  /// Names (`shoal.name`, or `arg0`, `arg1`, ...) of values that may.
  mlir::ArrayRef<std::string> allowed;
};

/// Fails where a value that is split where it is made, and larger than the
/// limit, is replicated whole for a user, unless
/// * an annotation is that user, or asks for that sharding at a result;
/// * its name is allowed, or it has the attribute `shoal.allow_replicated`.
/// The error stands at the value, a note at the first user.
mlir::LogicalResult checkReplication(const ExtractedProblem &extracted,
                                     const Assignment &assignment,
                                     const ReplicationLimits &limits);

/// Warns of each op that keeps all whole for want of a rule, with the bytes
/// that a device holds of its operands and results, and those that it receives
/// for them.
void warnOfWholeOps(const ExtractedProblem &extracted,
                    const Assignment &assignment);

} // namespace shoal

#endif // SHOAL_LIB_TRANSFORMS_PROPAGATION_CHECKREPLICATION_H
