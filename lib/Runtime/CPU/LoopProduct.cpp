// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "LoopProduct.h"
#include "ProductRows.h"
#include "SharedLoops.h"
#include "shoal/Support/Threshold.h"

namespace shoal::rt {

/// What sums of elements of this type are held in.
static ElementType accumulatorOf(ElementType type) {
  return support::isSmallFloat(type) ? ElementType::F32 : type;
}

static constexpr int64_t stripSize = 512;
static const support::Threshold
    strip("results of a strip of a product of loops", stripSize),
    longStrip("results of a strip of a product without sums", 8192);

namespace {

class LoopNest {
public:
  LoopNest(const LoopProduct &product, ElementType typeIn, ElementType typeOut,
           const void *a, const void *b, void *result)
      : rows(productRowsFor(typeIn)), keepsType(typeIn == typeOut),
        round(typeOut == accumulatorOf(typeIn) ? nullptr
                                               : roundRowFor(typeOut)),
        inBytes(sizeOf(typeIn)), sumBytes(sizeOf(accumulatorOf(typeIn))),
        outBytes(sizeOf(typeOut)), outer(simplify(product.outer, /*leader=*/2)),
        summed(simplify(product.summed, /*leader=*/0)),
        a(static_cast<const char *>(a)), b(static_cast<const char *>(b)),
        result(static_cast<char *>(result)) {
    inner = outer.empty() ? unit : outer.back();
    if (!outer.empty())
      outer.pop_back();
    innerSum = summed.empty() ? unit : summed.back();
  }

  void run() {
    double bytes = static_cast<double>(iterations(summed)) * bytesPerLoopTerm;
    if (summed.empty())
      return forEachStrip<3>(outer, inner,
                             round && !keepsType ? strip : longStrip, bytes,
                             [&](const Offsets<3> &at, int64_t, int64_t count) {
                               multiply(at, count);
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
  static constexpr Loop<3> unit = {1, {0, 0, 0}};

  /// A strip of accumulators of any type.
  struct alignas(64) Sums {
    char bytes[stripSize * sizeof(int64_t)];
  };

  static int64_t sizeOf(ElementType type) {
    return static_cast<int64_t>(support::elementSize(type));
  }

  static bool isDense(const Loop<3> &loop) {
    return (loop.strides[0] == 0 || loop.strides[0] == 1) &&
           (loop.strides[1] == 0 || loop.strides[1] == 1);
  }

  /// Whether to sum element by element (dot products), not row by row.
  bool sumsAlongRows() const {
    bool wide = inner.size >= 8;
    return !wide || (!isDense(inner) && isDense(innerSum));
  }

  /// `count` steps of the loop, from these elements of the operands on.
  void run(ProductRow compute, const Loop<3> &loop, int64_t count, int64_t atA,
           int64_t atB, char *to) const {
    compute(count, a + atA * inBytes, loop.strides[0], b + atB * inBytes,
            loop.strides[1], to);
  }

  /// Calls compute(sums) for the accumulators of a strip of results: these
  /// themselves, where they are of that type.
  template <typename Compute>
  void intoResults(int64_t at, int64_t count, Compute &&compute) const {
    char *to = result + at * outBytes;
    if (!round)
      return compute(to);
    Sums sums;
    compute(sums.bytes);
    round(count, sums.bytes, to);
  }

  void multiply(const Offsets<3> &at, int64_t count) const {
    if (keepsType)
      return run(rows.multiplyRounded, inner, count, at[0], at[1],
                 result + at[2] * outBytes);
    intoResults(at[2], count, [&](char *products) {
      run(rows.multiply, inner, count, at[0], at[1], products);
    });
  }

  /// A strip of the innermost result loop, all terms.
  void accumulate(const Offsets<3> &at, int64_t count) const {
    intoResults(at[2], count, [&](char *sums) {
      rows.clear(count, sums);
      forEach<3>(summed, [&](const Offsets<3> &term) {
        run(rows.accumulate, inner, count, at[0] + term[0], at[1] + term[1],
            sums);
      });
    });
  }

  void dots(const Offsets<3> &at, int64_t count) const {
    intoResults(at[2], count, [&](char *sums) {
      rows.clear(count, sums);
      for (int64_t i = 0; i < count; ++i) {
        int64_t x = at[0] + i * inner.strides[0];
        int64_t y = at[1] + i * inner.strides[1];
        forEach<3>(summed, [&](const Offsets<3> &term) {
          run(rows.dot, innerSum, innerSum.size, x + term[0], y + term[1],
              sums + i * sumBytes);
        });
      }
    });
  }

  ProductRows rows;
  bool keepsType;
  /// Null where results are accumulators.
  RoundRow round;
  int64_t inBytes, sumBytes, outBytes;
  Loops<3> outer;
  Loops<3> summed;
  Loop<3> inner;
  Loop<3> innerSum;
  const char *a;
  const char *b;
  char *result;
};

} // namespace

void runLoops(const LoopProduct &product, ElementType typeIn,
              ElementType typeOut, const void *a, const void *b, void *result) {
  if (accumulatorOf(typeIn) != accumulatorOf(typeOut))
    fatal("a product of types that einsum should have converted");
  LoopNest(product, typeIn, typeOut, a, b, result).run();
}

} // namespace shoal::rt
