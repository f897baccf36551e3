// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/Transforms/Options/PartitionOptions.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

using namespace shoal;

namespace {
struct PartitionOptionRow {
  decltype(PartitionOption::member) member;
  const char *flag, *placeholder, *text;
};

#define GET_PartitionOptionRows_IMPL
#include "shoal/Transforms/Options/PartitionOptions.inc"
} // namespace

/// "64 KiB": in the largest unit of which it is a multiple.
static std::string describe(int64_t bytes) {
  constexpr const char *units[] = {"", " KiB", " MiB", " GiB"};
  size_t unit = 0;
  for (; bytes > 0 && bytes % 1024 == 0 && unit + 1 < std::size(units); ++unit)
    bytes /= 1024;
  return std::to_string(bytes) + units[unit];
}

static std::string describe(double number) {
  return llvm::formatv("{0}", llvm::format("%g", number));
}

/// Flags that are off and lists that are empty need no words.
static std::string describe(bool isOn) { return isOn ? "on" : ""; }
static std::string describe(const std::string &text) { return text; }
static std::string describe(const std::vector<std::string> &names) {
  return llvm::join(names, ",");
}

static PartitionOption makeOption(const PartitionOptionRow &row) {
  std::string preset = std::visit(
      [](auto member) { return describe(PartitionOptions().*member); },
      row.member);
  std::string help = row.text;
  if (!preset.empty())
    help += " (default: " + preset + ")";
  return {row.member, row.flag, row.placeholder, help};
}

llvm::ArrayRef<PartitionOption> shoal::partitionOptions() {
  static const auto options =
      llvm::map_to_vector(PartitionOptionRows, makeOption);
  return options;
}
