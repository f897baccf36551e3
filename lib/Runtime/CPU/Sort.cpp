// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Memory/Scratch.h"
#include "../Program/Calls.h"
#include "../Program/Numeric.h"
#include "SharedLines.h"
#include "shoal/Calls/OrderingScratch.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>

using namespace shoal::rt;

namespace {

/// An operand and its result, sorted along dimensions [outer, count, inner].
struct Column {
  ElementType type;
  const char *in;
  char *out;

  int64_t elementSize() const { return shoal::support::elementSize(type); }
};

struct Sort {
  int64_t outer, count, inner;
  bool descending;
  std::vector<Column> columns;
  size_t numKeys;
};

/// Keys of one line, side by side: is element a before b, and the reverse?
class KeyLine {
public:
  virtual ~KeyLine() = default;
  virtual void load(const char *start, int64_t stride) = 0;
  /// Negative where a comes first, 0 where both are equal.
  virtual int compare(int64_t a, int64_t b) const = 0;
};

template <typename T>
class TypedKeyLine final : public KeyLine {
public:
  TypedKeyLine(int64_t count, bool descending, Scratch &scratch)
      : descending(descending), line(scratch.take<Wide>(count)) {}

  void load(const char *start, int64_t stride) override {
    auto *elements = reinterpret_cast<const T *>(start);
    for (size_t i = 0; i < line.size(); ++i)
      line[i] = widen(elements[i * stride]);
  }

  int compare(int64_t a, int64_t b) const override {
    auto x = line[a], y = line[b];
    int order = isBefore(x, y) ? -1 : isBefore(y, x) ? 1 : 0;
    return descending ? -order : order;
  }

private:
  using Wide = decltype(widen(T()));

  /// NaN comes last, the zeros are equal.
  static bool isBefore(Wide x, Wide y) {
    if constexpr (std::is_floating_point_v<Wide>)
      return x < y || (std::isnan(y) && !std::isnan(x));
    else
      return x < y;
  }

  bool descending;
  std::span<Wide> line;
};

} // namespace

static std::unique_ptr<KeyLine> makeKeyLine(ElementType type, const Sort &sort,
                                            Scratch &scratch) {
  return dispatchType(type, [&]<typename T>() -> std::unique_ptr<KeyLine> {
    return std::make_unique<TypedKeyLine<T>>(sort.count, sort.descending,
                                             scratch);
  });
}

/// Elements whose keys are equal keep their order.
static void orderLine(std::span<const std::unique_ptr<KeyLine>> keys,
                      std::span<int64_t> order) {
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    for (const std::unique_ptr<KeyLine> &key : keys)
      if (int difference = key->compare(a, b))
        return difference < 0;
    return a < b;
  });
}

static void moveLine(const Column &column, int64_t first, int64_t stride,
                     std::span<const int64_t> order) {
  int64_t size = column.elementSize();
  for (size_t i = 0; i < order.size(); ++i)
    std::memcpy(column.out + (first + i * stride) * size,
                column.in + (first + order[i] * stride) * size, size);
}

namespace {
/// What it takes to sort one line after another.
class LineSorter {
public:
  LineSorter(const Sort &sort, Scratch &scratch) : sort(sort) {
    for (size_t k = 0; k < sort.numKeys; ++k)
      keys.push_back(makeKeyLine(sort.columns[k].type, sort, scratch));
    order = scratch.take<int64_t>(sort.count);
  }

  void run(int64_t line) {
    int64_t first =
        line / sort.inner * sort.count * sort.inner + line % sort.inner;
    for (size_t k = 0; k < sort.numKeys; ++k)
      keys[k]->load(sort.columns[k].in + first * sort.columns[k].elementSize(),
                    sort.inner);
    orderLine(keys, order);
    for (const Column &column : sort.columns)
      moveLine(column, first, sort.inner, order);
  }

private:
  const Sort &sort;
  std::vector<std::unique_ptr<KeyLine>> keys;
  std::span<int64_t> order;
};
} // namespace

static void sortAll(const Sort &sort, Scratch &scratch) {
  // A comparison for each of log n passes, about.
  double bytes = static_cast<double>(sort.count) * bytesPerLoopTerm *
                 std::log2(static_cast<double>(sort.count) + 1) * 4;
  SharedLines lines(sort.outer * sort.inner, bytes);
  std::vector<LineSorter> sorters;
  sorters.reserve(lines.parts());
  for (int64_t part = 0; part < lines.parts(); ++part)
    sorters.emplace_back(sort, scratch);
  lines.forEach([&](int64_t line, int64_t part) { sorters[part].run(line); });
}

extern "C" void shoal_rt_sort(const int64_t *desc, ...) {
  const auto &call = lookUp<SortCall>(desc);
  Lines lines(call.shape, call.axis);
  Sort sort;
  sort.numKeys = call.numKeys;
  sort.descending = call.descending;
  sort.outer = lines.outer;
  sort.count = lines.count;
  sort.inner = lines.inner;
  va_list arguments;
  va_start(arguments, desc);
  for (ElementType type : call.types)
    sort.columns.push_back({type, va_arg(arguments, const char *), nullptr});
  for (Column &column : sort.columns)
    column.out = va_arg(arguments, char *);
  void *scratch = va_arg(arguments, void *);
  va_end(arguments);
  Scratch pieces(scratch, scratchBytes(call, /*onDevice=*/false));
  if (lines.number() * lines.count != 0)
    sortAll(sort, pieces);
}
