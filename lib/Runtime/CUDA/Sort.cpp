// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Common/Descriptor.h"
#include "Device.h"
#include "SortLines.h"

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
  Descriptor reader(desc);
  int64_t numOperands = reader.number(), numKeys = reader.number();
  bool descending = reader.number() != 0;
  int64_t axis = reader.number();
  std::vector<int64_t> shape = reader.numbers(reader.number());
  std::span<const int64_t> dims(shape);
  std::vector<Column> columns;
  va_list arguments;
  va_start(arguments, desc);
  for (int64_t i = 0; i < numOperands; ++i)
    columns.push_back(
        {reader.type(), va_arg(arguments, const void *), nullptr});
  for (Column &column : columns)
    column.out = va_arg(arguments, void *);
  va_end(arguments);
  int64_t inner = shoal::support::numElements(dims.subspan(axis + 1));
  SortLines lines{shoal::support::numElements(dims.first(axis)) * inner,
                  dims[axis], inner};
  if (lines.lines * lines.count == 0)
    return;
  LineSorter sorter(lines, Device::get().compute());
  std::vector<SortKey> keys;
  for (int64_t k = 0; k < numKeys; ++k)
    keys.push_back({columns[k].type, columns[k].in});
  SortedLines sorted = sorter.sort(keys, descending);
  for (const Column &column : columns)
    sorter.move(sorted, lines.count, column.type, column.in, column.out);
}
