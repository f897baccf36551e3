// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ProductRows.h"

namespace shoal::rt {

/// Calls body with the strides as compile-time constants where both are 0 or
/// 1, so that each case becomes a vector loop of its own.
template <typename Body>
static inline void withStrides(int64_t a, int64_t b, Body &&body) {
  using Zero = std::integral_constant<int64_t, 0>;
  using One = std::integral_constant<int64_t, 1>;
  if (a == 1 && b == 1)
    body(One(), One());
  else if (a == 1 && b == 0)
    body(One(), Zero());
  else if (a == 0 && b == 1)
    body(Zero(), One());
  else
    body(a, b);
}

namespace {

template <typename In>
class RowsOf {
  using Acc = Accumulator<In>;
  static constexpr int64_t lanes = 16;

  static Acc product(In a, In b) {
    return combine<Kind::Prod>(convert<Acc>(a), convert<Acc>(b));
  }
  static void add(Acc &sum, In a, In b) {
    sum = combine<Kind::Sum>(sum, product(a, b));
  }
  static const In *elements(const char *operand) {
    return reinterpret_cast<const In *>(operand);
  }
  static Acc *accumulators(char *memory) {
    return reinterpret_cast<Acc *>(memory);
  }

public:
  template <typename Out>
  static void multiply(int64_t count, const char *a, int64_t strideA,
                       const char *b, int64_t strideB, char *to) {
    const In *x = elements(a), *y = elements(b);
    Out *results = reinterpret_cast<Out *>(to);
    withStrides(strideA, strideB, [&](auto sx, auto sy) {
      for (int64_t i = 0; i < count; ++i)
        results[i] = convert<Out>(product(x[i * sx], y[i * sy]));
    });
  }

  static void accumulate(int64_t count, const char *a, int64_t strideA,
                         const char *b, int64_t strideB, char *to) {
    const In *x = elements(a), *y = elements(b);
    Acc *sums = accumulators(to);
    withStrides(strideA, strideB, [&](auto sx, auto sy) {
      for (int64_t i = 0; i < count; ++i)
        add(sums[i], x[i * sx], y[i * sy]);
    });
  }

  static void dot(int64_t count, const char *a, int64_t strideA, const char *b,
                  int64_t strideB, char *to) {
    const In *x = elements(a), *y = elements(b);
    Acc partial[lanes];
    std::fill_n(partial, lanes, identity<Kind::Sum, Acc>());
    int64_t whole = count / lanes * lanes;
    withStrides(strideA, strideB, [&](auto sx, auto sy) {
      for (int64_t i = 0; i < whole; i += lanes)
        for (int64_t l = 0; l < lanes; ++l)
          add(partial[l], x[(i + l) * sx], y[(i + l) * sy]);
    });
    // Until here they are in registers.
    Acc total[lanes];
    std::copy_n(partial, lanes, total);
#pragma clang loop vectorize(disable) unroll(disable)
    for (int64_t i = whole; i < count; ++i)
      add(total[i - whole], x[i * strideA], y[i * strideB]);
    for (int64_t half = lanes / 2; half > 0; half /= 2)
      for (int64_t l = 0; l < half; ++l)
        total[l] = combine<Kind::Sum>(total[l], total[l + half]);
    Acc &sum = *accumulators(to);
    sum = combine<Kind::Sum>(sum, total[0]);
  }

  static void clear(int64_t count, char *to) {
    std::fill_n(accumulators(to), count, identity<Kind::Sum, Acc>());
  }
};

} // namespace

ProductRows productRowsFor(ElementType type) {
  return dispatchType(type, []<typename T>() -> ProductRows {
    using Rows = RowsOf<T>;
    return {Rows::template multiply<Accumulator<T>>, Rows::template multiply<T>,
            Rows::accumulate, Rows::dot, Rows::clear};
  });
}

template <typename T>
static void roundRow(int64_t count, const char *from, char *to) {
  for (int64_t i = 0; i < count; ++i)
    reinterpret_cast<T *>(to)[i] =
        convert<T>(reinterpret_cast<const float *>(from)[i]);
}

RoundRow roundRowFor(ElementType type) {
  return dispatchType(type, []<typename T>() -> RoundRow {
    if constexpr (isSmallFloat<T>)
      return roundRow<T>;
    return nullptr;
  });
}

} // namespace shoal::rt
