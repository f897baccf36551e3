// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the descriptors of calls say, for all targets; see ABI.h. Others are
// read by the plans that they are for: Blocks, AllToAllPlan, IndexedBoxes.

#ifndef SHOAL_LIB_RUNTIME_COMMON_CALLSPECS_H
#define SHOAL_LIB_RUNTIME_COMMON_CALLSPECS_H

#include "Descriptor.h"
#include "Sizes.h"

#include <span>

namespace shoal::rt {

/// The lines of a dense tensor along one of its dimensions: `count` elements
/// each, `inner` apart; `outer` x `inner` lines.
struct Lines {
  int64_t outer, count, inner;

  Lines(std::span<const int64_t> shape, int64_t axis)
      : outer(support::numElements(shape.first(axis))), count(shape[axis]),
        inner(support::numElements(shape.subspan(axis + 1))) {}
  int64_t number() const { return outer * inner; }
};

/// Reads a shape and the axis behind it.
inline Lines readLines(Descriptor &reader) {
  std::vector<int64_t> shape = reader.numbers(reader.number());
  return {shape, reader.number()};
}

struct CumulativeSpec {
  ElementType type;
  Kind kind;
  Lines lines;
  bool exclusive, reverse;

  explicit CumulativeSpec(const int64_t *desc)
      : CumulativeSpec(Descriptor(desc)) {}

private:
  explicit CumulativeSpec(Descriptor reader)
      : type(reader.type()), kind(reader.kind()), lines(readLines(reader)),
        exclusive(reader.number() != 0), reverse(reader.number() != 0) {}
};

struct SortSpec {
  int64_t numOperands, numKeys;
  bool descending;
  Lines lines;
  /// Of the operands.
  std::vector<ElementType> types;

  explicit SortSpec(const int64_t *desc) : SortSpec(Descriptor(desc)) {}

private:
  explicit SortSpec(Descriptor reader)
      : numOperands(reader.number()), numKeys(reader.number()),
        descending(reader.number() != 0), lines(readAxisFirst(reader)) {
    for (int64_t i = 0; i < numOperands; ++i)
      types.push_back(reader.type());
  }
  static Lines readAxisFirst(Descriptor &reader) {
    int64_t axis = reader.number();
    return {reader.numbers(reader.number()), axis};
  }
};

/// The k greatest of each row of n elements.
struct TopKSpec {
  ElementType type;
  int64_t rows, n, k;

  explicit TopKSpec(const int64_t *desc) {
    Descriptor reader(desc);
    type = reader.type();
    std::vector<int64_t> shape = reader.numbers(reader.number());
    k = reader.number();
    n = shape.back();
    shape.pop_back();
    rows = support::numElements(shape);
  }
};

struct AllReduceSpec {
  int64_t id;
  ElementType type;
  int64_t mesh;
  Kind kind;
  int64_t count;
  Axes axes;

  explicit AllReduceSpec(const int64_t *desc) {
    Descriptor reader(desc);
    id = reader.number();
    type = reader.type();
    mesh = reader.number();
    kind = reader.kind();
    count = reader.number();
    axes = reader.axes();
  }
};

struct PermuteSpec {
  int64_t id;
  ElementType type;
  int64_t sourceMesh, targetMesh, count, shift;
  Axes source, target;

  explicit PermuteSpec(const int64_t *desc) {
    Descriptor reader(desc);
    id = reader.number();
    type = reader.type();
    sourceMesh = reader.number();
    targetMesh = reader.number();
    count = reader.number();
    shift = reader.number();
    source = reader.axes();
    target = reader.axes();
  }
  /// To whom this device sends, and from whom it receives; itself where nothing
  /// moves. Of a Device, which knows its place.
  template <typename Device>
  int64_t to(const Device &device) const {
    return device.shifted(sourceMesh, source, targetMesh, target, shift);
  }
  template <typename Device>
  int64_t from(const Device &device) const {
    return device.shifted(targetMesh, target, sourceMesh, source,
                          shardCount(source) - shift);
  }
};

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COMMON_CALLSPECS_H
