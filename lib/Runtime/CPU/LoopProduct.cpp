// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LoopProduct.h"
#include "SharedLoops.h"

namespace shoal::rt {

namespace {

/// One element each of the operands, multiplied in Acc.
template <typename Acc, typename In>
inline Acc multiply(In a, In b) {
  return combine<Kind::Prod>(convert<Acc>(a), convert<Acc>(b));
}

/// Calls body with the strides as compile-time constants where both are 0 or
/// 1, so that each case becomes a vector loop of its own.
template <typename Body>
inline void withStrides(int64_t a, int64_t b, Body &&body) {
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

template <typename In, typename Out, typename Acc>
class Kernel {
public:
  Kernel(const LoopProduct &product, const In *a, const In *b, Out *result)
      : outer(simplify(product.outer, /*leader=*/2)),
        summed(simplify(product.summed, /*leader=*/0)), a(a), b(b),
        result(result) {
    inner = outer.empty() ? unit : outer.back();
    if (!outer.empty())
      outer.pop_back();
    innerSum = summed.empty() ? unit : summed.back();
  }

  void run() {
    double bytes = static_cast<double>(iterations(summed)) * bytesPerLoopTerm;
    if (summed.empty())
      return forEachStrip<3>(outer, inner, longStrip, bytes,
                             [&](const Offsets<3> &at, int64_t, int64_t count) {
                               product(at, count);
                             });
    if (sumsAlongRows()) {
      summed.pop_back();
      return forEachStrip<3>(outer, inner, strip, bytes,
                             [&](const Offsets<3> &at, int64_t, int64_t count) {
                               dots(at, count);
                             });
    }
    forEachStrip<3>(outer, inner, strip, bytes,
                    [&](const Offsets<3> &at, int64_t, int64_t count) {
                      accumulate(at, count);
                    });
  }

private:
  static constexpr int64_t strip = 512, longStrip = 8192;
  static constexpr int64_t lanes = 16;
  static constexpr Loop<3> unit = {1, {0, 0, 0}};

  static bool isDense(const Loop<3> &loop) {
    return (loop.strides[0] == 0 || loop.strides[0] == 1) &&
           (loop.strides[1] == 0 || loop.strides[1] == 1);
  }

  /// Whether to sum element by element (dot products), not row by row.
  bool sumsAlongRows() const {
    bool wide = inner.size >= 8;
    return !wide || (!isDense(inner) && isDense(innerSum));
  }

  void product(const Offsets<3> &at, int64_t count) {
    const In *x = a + at[0], *y = b + at[1];
    Out *r = result + at[2];
    withStrides(inner.strides[0], inner.strides[1], [&](auto sx, auto sy) {
      for (int64_t i = 0; i < count; ++i)
        r[i] = convert<Out>(multiply<Acc>(x[i * sx], y[i * sy]));
    });
  }

  /// A strip of the innermost result loop, all terms.
  void accumulate(const Offsets<3> &at, int64_t count) {
    Acc sums[strip];
    std::fill_n(sums, count, identity<Kind::Sum, Acc>());
    forEach<3>(summed, [&](const Offsets<3> &term) {
      const In *x = a + at[0] + term[0], *y = b + at[1] + term[1];
      withStrides(inner.strides[0], inner.strides[1], [&](auto sx, auto sy) {
        for (int64_t i = 0; i < count; ++i)
          sums[i] =
              combine<Kind::Sum>(sums[i], multiply<Acc>(x[i * sx], y[i * sy]));
      });
    });
    for (int64_t i = 0; i < count; ++i)
      result[at[2] + i] = convert<Out>(sums[i]);
  }

  void dots(const Offsets<3> &at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const In *x = a + at[0] + i * inner.strides[0];
      const In *y = b + at[1] + i * inner.strides[1];
      Acc sum = identity<Kind::Sum, Acc>();
      forEach<3>(summed, [&](const Offsets<3> &term) {
        sum = combine<Kind::Sum>(sum, dot(x + term[0], y + term[1]));
      });
      result[at[2] + i] = convert<Out>(sum);
    }
  }

  /// In lanes, in a fixed order.
  Acc dot(const In *x, const In *y) {
    Acc partial[lanes];
    std::fill_n(partial, lanes, identity<Kind::Sum, Acc>());
    int64_t count = innerSum.size, whole = count / lanes * lanes;
    withStrides(
        innerSum.strides[0], innerSum.strides[1], [&](auto sx, auto sy) {
          for (int64_t i = 0; i < whole; i += lanes)
            for (int64_t l = 0; l < lanes; ++l)
              partial[l] = combine<Kind::Sum>(
                  partial[l], multiply<Acc>(x[(i + l) * sx], y[(i + l) * sy]));
          for (int64_t i = whole; i < count; ++i)
            partial[i - whole] = combine<Kind::Sum>(
                partial[i - whole], multiply<Acc>(x[i * sx], y[i * sy]));
        });
    for (int64_t half = lanes / 2; half > 0; half /= 2)
      for (int64_t l = 0; l < half; ++l)
        partial[l] = combine<Kind::Sum>(partial[l], partial[l + half]);
    return partial[0];
  }

  Loops<3> outer;
  Loops<3> summed;
  Loop<3> inner;
  Loop<3> innerSum;
  const In *a;
  const In *b;
  Out *result;
};

template <typename In, typename Out>
inline constexpr bool isSupported =
    std::is_same_v<In, Out> ||
    (isSmallFloat<In> && std::is_same_v<Out, float>) ||
    (isFloat8<In> && isSmallFloat<Out>) ||
    (std::is_same_v<In, float> && isSmallFloat<Out>);

} // namespace

void runLoops(const LoopProduct &product, ElementType typeIn,
              ElementType typeOut, const void *a, const void *b, void *result) {
  dispatchType(typeIn, [&]<typename In>() {
    dispatchType(typeOut, [&]<typename Out>() {
      if constexpr (isSupported<In, Out>)
        Kernel<In, Out, Accumulator<In>>(product, static_cast<const In *>(a),
                                         static_cast<const In *>(b),
                                         static_cast<Out *>(result))
            .run();
      else
        fatal("a product of types that einsum should have converted");
    });
  });
}

} // namespace shoal::rt
