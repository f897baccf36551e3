// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What users may set of the partitioner, as values and as a table of texts.

#ifndef SHOAL_TRANSFORMS_OPTIONS_PARTITIONOPTIONS_H
#define SHOAL_TRANSFORMS_OPTIONS_PARTITIONOPTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace shoal {

/// What each means stands in PartitionOptions.td, where every member has a row.
struct PartitionOptions {
  /// 64 KiB: below it a message's fixed cost outweighs packing it.
  int64_t combineBytes = 64 << 10;
  /// 1 GiB: a larger value gathered whole on every device is rarely meant.
  int64_t maxReplicatedBytes = int64_t(1) << 30;
  std::vector<std::string> allowReplicated;
  int64_t windowedEinsumBytes = 0;
  bool windowedEinsumOverlap = false;
  bool denseOneHots = false;
  /// A multiply-add in a product takes about 1/40 of the time that one element
  /// takes to be moved by an index, on a CPU core.
  double oneHotGain = 32;
  double flopsPerByte = 0;
  std::string machineFile;
  /// What tiny programs save by repeating their work, so that all that sends
  /// is their inputs, is less.
  double repeatMargin = 100;
  bool quickSearch = false;
  bool lint = false;
  bool removals = false;
  bool certify = false;
  double warnRepeatedWork = 1.05;
  double maxRepeatedWork = 0;
  std::string memoryLimit;
  std::string remat;
  std::string rematCollectives;
};

/// One of them. Visitors of `member` get a pointer to a member of each type:
///
///   std::visit([&](auto member) { print(options.*member); }, option.member);
struct PartitionOption {
  std::variant<int64_t PartitionOptions::*, bool PartitionOptions::*,
               double PartitionOptions::*, std::string PartitionOptions::*,
               std::vector<std::string> PartitionOptions::*>
      member;
  llvm::StringRef flag, placeholder;
  /// What it means, and the default where there is one to tell.
  std::string help;
};

/// All of them. Texts live as long as the process.
llvm::ArrayRef<PartitionOption> partitionOptions();

} // namespace shoal

#endif // SHOAL_TRANSFORMS_OPTIONS_PARTITIONOPTIONS_H
