// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "../Memory/Scratch.h"
#include "../Program/Calls.h"
#include "../Program/Numeric.h"
#include "SharedLines.h"
#include "shoal/Calls/OrderingScratch.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace shoal::rt;

/// True if `a` comes before `b`, equal values aside.
template <typename T>
static bool greater(T a, T b) {
  auto x = widen(a), y = widen(b);
  if constexpr (std::is_floating_point_v<decltype(x)>)
    return x > y || (std::isnan(x) && !std::isnan(y));
  else
    return x > y;
}

/// Keeps the k greatest so far in order; the many rows of few elements that
/// gating has need no more.
template <typename T>
static void selectByInsertion(const T *row, int64_t n, int64_t k, T *values,
                              int32_t *indices, std::span<int32_t>) {
  int64_t held = 0;
  for (int64_t i = 0; i < n; ++i) {
    T value = row[i];
    if (held == k && !greater(value, values[k - 1]))
      continue;
    int64_t at = held < k ? held++ : k - 1;
    for (; at > 0 && greater(value, values[at - 1]); --at) {
      values[at] = values[at - 1];
      indices[at] = indices[at - 1];
    }
    values[at] = value;
    indices[at] = static_cast<int32_t>(i);
  }
}

template <typename T>
static void selectBySorting(const T *row, int64_t, int64_t k, T *values,
                            int32_t *indices, std::span<int32_t> order) {
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + k, order.end(),
                    [&](int32_t a, int32_t b) {
                      if (greater(row[a], row[b]))
                        return true;
                      return !greater(row[b], row[a]) && a < b;
                    });
  for (int64_t i = 0; i < k; ++i) {
    indices[i] = order[i];
    values[i] = row[order[i]];
  }
}

extern "C" void shoal_rt_top_k(const int64_t *desc, const void *in,
                               void *values, int32_t *indices, void *scratch) {
  const auto &call = lookUp<TopKCall>(desc);
  Lines rows(call.shape, static_cast<int64_t>(call.shape.size()) - 1);
  int64_t k = call.k, n = rows.count;
  if (k == 0 || rows.number() == 0)
    return;
  bool sorts = selectsBySorting(call, /*onDevice=*/false);
  Scratch pieces(scratch, scratchBytes(call, /*onDevice=*/false));
  SharedLines shared(rows.number(), static_cast<double>(n) * bytesPerLoopTerm);
  std::vector<std::span<int32_t>> orders;
  orders.reserve(shared.parts());
  for (int64_t part = 0; part < shared.parts(); ++part)
    orders.push_back(pieces.take<int32_t>(sorts ? n : 0));
  dispatchType(call.type, [&]<typename T>() {
    auto select = sorts ? selectBySorting<T> : selectByInsertion<T>;
    shared.forEach([&](int64_t row, int64_t part) {
      select(static_cast<const T *>(in) + row * n, n, k,
             static_cast<T *>(values) + row * k, indices + row * k,
             orders[part]);
    });
  });
}
