// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Options/PartitionFlags.h"

using namespace shoal;
namespace cl = llvm::cl;

using Names = std::vector<std::string>;

template <typename T>
static std::unique_ptr<cl::Option> makeFlag(const PartitionOption &option,
                                            T &value,
                                            cl::OptionCategory &category) {
  return std::make_unique<cl::opt<T, /*ExternalStorage=*/true>>(
      option.flag, cl::location(value), cl::init(T(value)),
      cl::value_desc(option.placeholder), cl::desc(option.help),
      cl::cat(category));
}

static std::unique_ptr<cl::Option> makeFlag(const PartitionOption &option,
                                            Names &value,
                                            cl::OptionCategory &category) {
  return std::make_unique<cl::list<std::string, Names>>(
      option.flag, cl::location(value), cl::CommaSeparated,
      cl::value_desc(option.placeholder), cl::desc(option.help),
      cl::cat(category));
}

PartitionFlags::PartitionFlags(cl::OptionCategory &category) {
  for (const PartitionOption &option : partitionOptions())
    std::visit(
        [&](auto member) {
          flags.push_back(makeFlag(option, options.*member, category));
        },
        option.member);
}
