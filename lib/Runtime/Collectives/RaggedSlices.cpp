// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "RaggedSlices.h"

#include <algorithm>

namespace shoal::rt {

std::vector<AnnouncedSlice> announce(const RaggedCounts &counts) {
  std::vector<AnnouncedSlice> slices;
  slices.reserve(counts.sendSizes.size());
  for (size_t i = 0; i < counts.sendSizes.size(); ++i)
    slices.push_back({counts.outOffsets[i], counts.sendSizes[i]});
  return slices;
}

/// Whether these are some of `all` rows. None are, wherever they begin.
static bool areRows(int64_t begin, int64_t rows, int64_t all) {
  return rows == 0 || (rows > 0 && begin >= 0 && rows <= all - begin);
}

/// "send_sizes[3] 7".
static std::string entry(const char *list, size_t place, int64_t value) {
  return std::string(list) + "[" + std::to_string(place) + "] " +
         std::to_string(value);
}

std::string findSendError(const RaggedAllToAllCall &call,
                          const RaggedCounts &counts) {
  for (size_t i = 0; i < counts.sendSizes.size(); ++i) {
    int64_t rows = counts.sendSizes[i];
    std::string size = ", " + entry("send_sizes", i, rows);
    if (!areRows(counts.inOffsets[i], rows, call.inRows))
      return entry("input_offsets", i, counts.inOffsets[i]) + size +
             ": these are not rows of the " + std::to_string(call.inRows) +
             " of the input";
    if (!areRows(counts.outOffsets[i], rows, call.outRows))
      return entry("output_offsets", i, counts.outOffsets[i]) + size +
             ": these are not rows of the " + std::to_string(call.outRows) +
             " of the output";
  }
  return "";
}

std::string findReceiveError(const RaggedAllToAllCall &call,
                             const RaggedCounts &counts,
                             std::span<const AnnouncedSlice> announced) {
  size_t each = announced.size() / shardCount(call.axes);
  auto senderOf = [&](size_t slice) {
    return "device " + std::to_string(slice / each) + " of the group";
  };
  std::vector<size_t> order;
  for (size_t i = 0; i < announced.size(); ++i) {
    if (announced[i].rows != counts.recvSizes[i])
      return entry("recv_sizes", i, counts.recvSizes[i]) + ": " + senderOf(i) +
             " sends " + std::to_string(announced[i].rows);
    if (announced[i].rows != 0)
      order.push_back(i);
  }
  std::ranges::sort(order, {}, [&](size_t i) { return announced[i].to; });
  for (size_t next = 1; next < order.size(); ++next) {
    const AnnouncedSlice &before = announced[order[next - 1]];
    const AnnouncedSlice &slice = announced[order[next]];
    if (before.to + before.rows > slice.to)
      return "row " + std::to_string(slice.to) + " of the output is sent by " +
             senderOf(order[next - 1]) + " and by " + senderOf(order[next]);
  }
  return "";
}

} // namespace shoal::rt
