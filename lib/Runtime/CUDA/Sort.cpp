// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Program/Calls.h"
#include "Device.h"
#include "SortLines.h"
#include "shoal/Calls/OrderingScratch.h"

#include <cstdarg>

using namespace shoal::rt;

namespace {
/// An operand and its result.
struct Column {
  ElementType type;
  const void *in;
  void *out;
};
} // namespace

extern "C" void shoal_rt_sort(const int64_t *desc, ...) {
  const auto &call = lookUp<SortCall>(desc);
  std::vector<Column> columns;
  columns.reserve(call.types.size());
  va_list arguments;
  va_start(arguments, desc);
  for (ElementType type : call.types)
    columns.push_back({type, va_arg(arguments, const void *), nullptr});
  for (Column &column : columns)
    column.out = va_arg(arguments, void *);
  void *scratch = va_arg(arguments, void *);
  va_end(arguments);
  Lines along(call.shape, call.axis);
  SortLines lines{along.number(), along.count, along.inner};
  if (lines.lines * lines.count == 0)
    return;
  Scratch pieces(scratch, scratchBytes(call, /*onDevice=*/true));
  LineSorter sorter(lines, pieces, Device::get().compute());
  std::vector<SortKey> keys;
  keys.reserve(call.numKeys);
  for (int64_t k = 0; k < call.numKeys; ++k)
    keys.push_back({columns[k].type, columns[k].in});
  SortedLines sorted = sorter.sort(keys, call.descending);
  for (const Column &column : columns)
    sorter.move(sorted, lines.count, column.type, column.in, column.out);
}
