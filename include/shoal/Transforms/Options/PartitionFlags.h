// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// The options of the partitioner on the command line of a tool.

#ifndef SHOAL_TRANSFORMS_OPTIONS_PARTITIONFLAGS_H
#define SHOAL_TRANSFORMS_OPTIONS_PARTITIONFLAGS_H

#include "shoal/Transforms/Options/PartitionOptions.h"
#include "llvm/Support/CommandLine.h"
#include <memory>

namespace shoal {

/// A flag for each PartitionOption. They write to this object, which therefore
/// stays where it is.
class PartitionFlags {
public:
  explicit PartitionFlags(llvm::cl::OptionCategory &category);
  PartitionFlags(const PartitionFlags &) = delete;
  PartitionFlags &operator=(const PartitionFlags &) = delete;

  /// What the command line said, once it is parsed.
  const PartitionOptions &get() const { return options; }

private:
  PartitionOptions options;
  std::vector<std::unique_ptr<llvm::cl::Option>> flags;
};

} // namespace shoal

#endif // SHOAL_TRANSFORMS_OPTIONS_PARTITIONFLAGS_H
