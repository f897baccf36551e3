// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "KernelEmitter.h"

using namespace mlir;
using namespace shoal;

using Values = KernelEmitter::Values;

namespace {

/// Where a block's rows of threads meet: for each sum a buffer of one element
/// per thread.
struct Meeting {
  KernelEmitter &e;
  Values buffers;
  SmallVector<Type> types;

  Value place(Value x, Value y) {
    return e.add(e.mul(y, e.schedule.blockX), x);
  }
  Values load(Value place) {
    Values values;
    for (auto [buffer, type] : llvm::zip_equal(buffers, types))
      values.push_back(e.loadShared(buffer, place, type));
    return values;
  }
  void store(Value place, ArrayRef<Value> values) {
    for (auto [buffer, value] : llvm::zip_equal(buffers, values))
      e.storeShared(value, buffer, place);
  }
};

} // namespace

/// Combines sums of each element of the vector.
static Values combineVectors(KernelEmitter &e, ArrayRef<Value> lhs,
                             ArrayRef<Value> rhs) {
  Values combined;
  size_t results = lhs.size() / e.schedule.vector;
  for (int64_t i = 0; i < e.schedule.vector; ++i)
    combined.append(e.combineSums(lhs.slice(i * results, results),
                                  rhs.slice(i * results, results)));
  return combined;
}

/// Halves the rows of threads until the first one has the sums of all.
static Values combineRows(KernelEmitter &e, ArrayRef<Value> sums, Value x,
                          Value y, Meeting &meeting) {
  meeting.store(meeting.place(x, y), sums);
  for (int64_t rows = e.schedule.blockY / 2; rows > 0; rows /= 2) {
    e.barrier();
    e.ifTrue(e.isLess(y, rows), [&] {
      Value own = meeting.place(x, y);
      Value other = meeting.place(x, e.add(y, e.constant(rows)));
      meeting.store(own,
                    combineVectors(e, meeting.load(own), meeting.load(other)));
    });
  }
  // The first row of threads has written last what it reads here.
  return meeting.load(meeting.place(x, y));
}

/// Combines the sums with what the results hold.
static void storeColumnSums(KernelEmitter &e, ArrayRef<Value> indices,
                            ArrayRef<Value> sums) {
  SmallVector<unsigned> results = e.reducedResults();
  SmallVector<Values> old;
  for (unsigned result : results)
    old.push_back(e.loadInitialVector(result, indices));
  Values flat;
  for (int64_t i = 0; i < e.schedule.vector; ++i)
    for (const Values &values : old)
      flat.push_back(values[i]);
  Values combined = combineVectors(e, flat, sums);
  for (auto [place, result] : llvm::enumerate(results)) {
    Values values;
    for (int64_t i = 0; i < e.schedule.vector; ++i)
      values.push_back(combined[i * results.size() + place]);
    e.storeVector(e.operandOf(result), indices, values);
  }
}

void shoal::emitColumnReduction(KernelEmitter &e) {
  const KernelSchedule &s = e.schedule;
  int64_t columns = e.nest.countIterations(false) / s.vector;
  int64_t length = e.nest.countIterations(true);
  Values neutral;
  for (int64_t i = 0; i < s.vector; ++i)
    neutral.append(e.neutralElements());
  Meeting meeting{e, {}, {}};
  for (Value element : neutral) {
    meeting.types.push_back(element.getType());
    if (s.blockY > 1)
      meeting.buffers.push_back(
          e.allocateShared(s.blockX * s.blockY, element.getType()));
  }
  e.forEachBlock([&](Value block) {
    Value x = e.threadX(), y = e.threadY();
    Value column = e.add(e.mul(block, s.blockX), x);
    Values indices = e.zeroIndices();
    e.setIndices(column, s.parallel, s.vector, indices);
    // Threads of columns that do not exist come to the barriers all the same.
    bool isWhole = columns % s.blockX == 0;
    Value end = isWhole ? e.constant(length)
                        : e.select(e.isLess(column, columns), length, 0);
    Values sums =
        e.forLoop(y, end, s.blockY, neutral, [&](Value i, ValueRange carried) {
          Values inner = indices, next(carried);
          e.setIndices(i, s.reduced, /*lastStep=*/1, inner);
          e.runVector(inner, next, /*areApart=*/true);
          return next;
        });
    if (s.blockY > 1)
      sums = combineRows(e, sums, x, y, meeting);
    auto store = [&] {
      if (isWhole)
        return storeColumnSums(e, indices, sums);
      e.ifTrue(e.isLess(column, columns),
               [&] { storeColumnSums(e, indices, sums); });
    };
    if (s.blockY == 1)
      return store();
    e.ifTrue(e.isLess(y, 1), store);
    // The next columns' sums go to the same places.
    if (s.grid != s.blocks)
      e.barrier();
  });
}
