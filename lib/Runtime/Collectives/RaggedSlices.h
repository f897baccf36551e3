// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The slices of a ragged_all_to_all, once its offsets and sizes are known, and
// what is wrong with them. Free of MPI.

#ifndef SHOAL_LIB_RUNTIME_COLLECTIVES_RAGGEDSLICES_H
#define SHOAL_LIB_RUNTIME_COLLECTIVES_RAGGEDSLICES_H

#include "../Program/Calls.h"

#include <string>

namespace shoal::rt {

/// The lists of one device, an entry for each slice that it sends or gets.
struct RaggedCounts {
  std::vector<int64_t> inOffsets, sendSizes, outOffsets, recvSizes;
};

/// What a device says of the slices that it sends, in their order.
std::vector<AnnouncedSlice> announce(const RaggedCounts &counts);

/// What is wrong with what this device sends; empty if nothing is. Sizes are
/// not negative then, and slices lie inside of both tensors.
std::string findSendError(const RaggedAllToAllCall &call,
                          const RaggedCounts &counts);

/// What is wrong with what the others have announced, whose own slices are
/// right; empty if nothing is. Rows that come are those that are expected then,
/// and none comes twice.
std::string findReceiveError(const RaggedAllToAllCall &call,
                             const RaggedCounts &counts,
                             std::span<const AnnouncedSlice> announced);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COLLECTIVES_RAGGEDSLICES_H
