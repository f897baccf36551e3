// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "OneDNN.h"
#include "GemmPiece.h"
#include "OneDNNKernel.h"
#include "shoal/Support/Threshold.h"

#include <memory>
#include <unordered_map>

// OpenMP's own, of the library that oneDNN takes its threads from.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int);
// NOLINTEND(readability-identifier-naming)

namespace shoal::rt {

using namespace onednn;

namespace {

/// oneDNN takes as many threads as OpenMP has for the caller, and its results
/// depend on them: one. Ours share its calls.
class OneThread {
public:
  OneThread() : before(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before); }
  OneThread(const OneThread &) = delete;

private:
  int before;
};

/// A plan's products by as few calls of oneDNN as its kernels and the threads
/// that share them allow. What they are depends on sizes alone.
class MatrixProducts {
public:
  MatrixProducts(const GemmPlan &plan, const Loops<3> &batch, ElementType in,
                 ElementType out);

  void run(const void *a, const void *b, void *c, void *parts) const;

private:
  /// Of a piece's sizes; `next` adds to the result, where there is something to
  /// sum.
  struct Kernels {
    Kernel first;
    std::optional<Kernel> next;

    Kernels(const Product &product, bool sums) : first(product, false) {
      if (sums)
        next.emplace(product, true);
    }
    bool areFast() const { return first.isFast() && (!next || next->isFast()); }
  };

  /// Of a piece, with loops inside of the call.
  Product describe(int64_t m, int64_t n, int64_t k,
                   const Loops<3> &inside) const;
  Loops<3> lastLoops(size_t count) const {
    return {loops.end() - static_cast<ptrdiff_t>(count), loops.end()};
  }
  /// How many of them are dimensions of one call.
  size_t countInside() const;
  /// Returns whether all are oneDNN's own for matrices.
  bool makeKernels(const GemmPieces &cut);
  bool makeKernelsOfParts();
  void runParts(const void *a, const void *b, void *c, void *memory) const;
  size_t kernelOf(const GemmPiece &piece) const {
    return (piece.m == pieces.rows ? 0 : 2) +
           (piece.n == pieces.columns ? 0 : 1);
  }

  GemmPlan plan;
  ElementType in, out;
  GemmPieces pieces;
  /// Of the terms; if more than one, there is one piece.
  TermParts parts;
  /// The result is made transposed where its columns are dense.
  bool swaps;
  Loops<3> inside;
  /// Around the calls.
  Loops<3> loops;
  /// Of whole pieces, then of those at the ends of rows and of columns; or of a
  /// part of the terms, then of the last one.
  std::array<std::unique_ptr<Kernels>, 4> kernels;
};

} // namespace

[[noreturn]] static void fail(const dnnl::error &error) {
  if (error.status == dnnl_out_of_memory)
    fatal("not enough memory: oneDNN has none for its kernels");
  fatal(std::string("oneDNN: ") + error.what());
}

/// A call of more is worth no more: its start costs a thousandth of it.
static const support::Threshold termsOfCall("terms of one call of oneDNN",
                                            1 << 22);

MatrixProducts::MatrixProducts(const GemmPlan &plan, const Loops<3> &batch,
                               ElementType in, ElementType out)
    : plan(plan), in(in), out(out), pieces(cutProduct(plan)),
      parts(cutTerms(plan, out)),
      swaps(!Matrix(plan.m, plan.n, plan.c).isRowMajor()), loops(batch) {
  loops.insert(loops.end(), plan.outer.begin(), plan.outer.end());
  if (parts.count > 1 && makeKernelsOfParts())
    return;
  parts.count = 1;
  size_t numInside = countInside();
  inside = lastLoops(numInside);
  loops.resize(loops.size() - numInside);
  GemmPieces whole = {plan.m, plan.n, 1, 1};
  for (const GemmPieces &cut : {pieces, whole})
    if (makeKernels(cut))
      return;
}

/// Whether oneDNN has a kernel of its own for it.
static bool hasKernel(const Product &product) {
  try {
    return Kernel(product, /*adds=*/false).isFast();
  } catch (const dnnl::error &) {
    return false; // none at all with these dimensions
  }
}

Product MatrixProducts::describe(int64_t m, int64_t n, int64_t k,
                                 const Loops<3> &inside) const {
  Product product{Matrix(m, k, plan.a),
                  Matrix(k, n, plan.b),
                  Matrix(m, n, plan.c),
                  in,
                  out,
                  inside};
  if (!swaps)
    return product;
  for (Matrix *matrix : {&product.a, &product.b, &product.c})
    matrix->transpose();
  std::swap(product.a, product.b);
  for (Loop<3> &loop : product.inside)
    std::swap(loop.strides[0], loop.strides[1]);
  return product;
}

size_t MatrixProducts::countInside() const {
  if (pieces.count() > 1)
    return 0;
  double terms = static_cast<double>(plan.m) * static_cast<double>(plan.n) *
                 static_cast<double>(plan.k);
  size_t most = 0;
  while (most < std::min<size_t>(loops.size(), 2) &&
         !termsOfCall.isReachedBy(terms))
    terms *= static_cast<double>(loops[loops.size() - ++most].size);
  for (; most > 0; --most)
    if (hasKernel(describe(plan.m, plan.n, plan.k, lastLoops(most))))
      break;
  return most;
}

bool MatrixProducts::makeKernels(const GemmPieces &cut) {
  pieces = cut;
  kernels = {};
  bool areFast = true;
  for (int64_t number = 0; number < pieces.count(); ++number) {
    GemmPiece piece(plan, pieces, number);
    std::unique_ptr<Kernels> &made = kernels[kernelOf(piece)];
    if (!made)
      made = std::make_unique<Kernels>(
          describe(piece.m, piece.n, plan.k, inside), !plan.summed.empty());
    areFast &= made->areFast();
  }
  return areFast;
}

bool MatrixProducts::makeKernelsOfParts() {
  int64_t last = plan.k - (parts.count - 1) * parts.terms;
  for (size_t i = 0; i < 2; ++i)
    kernels[i] = std::make_unique<Kernels>(
        describe(plan.m, plan.n, i == 0 ? parts.terms : last, {}),
        /*sums=*/false);
  return kernels[0]->areFast() && kernels[1]->areFast();
}

/// Each part into memory of its own, the first one into the result.
void MatrixProducts::runParts(const void *lhs, const void *rhs, void *result,
                              void *memory) const {
  auto *sum = static_cast<float *>(result),
       *others = static_cast<float *>(memory);
  auto inBytes = static_cast<int64_t>(support::elementSize(in));
  int64_t elements = plan.m * plan.n;
  GemmPieces whole = {plan.m, plan.n, 1, 1};
  double bytes =
      costOf(plan, whole, sizeof(float)) / static_cast<double>(parts.count);
  parallelFor({parts.count, bytes}, [&](int64_t begin, int64_t end) {
    OneThread limit;
    for (int64_t part = begin; part < end; ++part) {
      const char *a = static_cast<const char *>(lhs) +
                      part * parts.terms * plan.a.column * inBytes;
      const char *b = static_cast<const char *>(rhs) +
                      part * parts.terms * plan.b.row * inBytes;
      char *c = reinterpret_cast<char *>(
          part == 0 ? sum : others + (part - 1) * elements);
      const Kernel &kernel = kernels[part + 1 == parts.count ? 1 : 0]->first;
      try {
        swaps ? kernel.run(b, a, c) : kernel.run(a, b, c);
      } catch (const dnnl::error &error) {
        fail(error);
      }
    }
  });
  double bytesOfSum = static_cast<double>((parts.count + 1) * sizeof(float));
  parallelFor({elements, bytesOfSum}, [&](int64_t begin, int64_t end) {
    for (int64_t part = 1; part < parts.count; ++part)
      for (int64_t i = begin; i < end; ++i)
        sum[i] += others[(part - 1) * elements + i];
  });
}

void MatrixProducts::run(const void *lhs, const void *rhs, void *result,
                         void *memory) const {
  if (parts.count > 1)
    return runParts(lhs, rhs, result, memory);
  auto inBytes = static_cast<int64_t>(support::elementSize(in));
  auto outBytes = static_cast<int64_t>(support::elementSize(out));
  auto runPiece = [&](const GemmPiece &piece, const Offsets<3> &at) {
    const Kernels &made = *kernels[kernelOf(piece)];
    const Kernel *kernel = &made.first;
    char *c = static_cast<char *>(result) + (at[2] + piece.begin[2]) * outBytes;
    forEach<3>(plan.summed, [&](const Offsets<3> &term) {
      const char *a = static_cast<const char *>(lhs) +
                      (at[0] + piece.begin[0] + term[0]) * inBytes;
      const char *b = static_cast<const char *>(rhs) +
                      (at[1] + piece.begin[1] + term[1]) * inBytes;
      swaps ? kernel->run(b, a, c) : kernel->run(a, b, c);
      if (made.next)
        kernel = &*made.next;
    });
  };
  Loops<3> nest = loops;
  nest.push_back({pieces.count(), {0, 0, 0}});
  double bytes = costOf(plan, pieces, support::elementSize(in)) *
                 static_cast<double>(iterations(inside));
  parallelFor({iterations(nest), bytes}, [&](int64_t begin, int64_t end) {
    OneThread limit;
    int64_t number = begin;
    try {
      forRange<3>(nest, begin, end, [&](const Offsets<3> &at) {
        runPiece(GemmPiece(plan, pieces, number++ % pieces.count()), at);
      });
    } catch (const dnnl::error &error) {
      fail(error);
    }
  });
}

namespace {

/// What was made for plans, by their addresses, which say it all until a plan
/// of a ragged product goes away.
class MadeProducts {
public:
  const MatrixProducts &get(const GemmPlan &plan, const Loops<3> &batch,
                            ElementType in, ElementType out) {
    auto entry = made.find(&plan);
    if (entry == made.end() || !entry->second.isOf(plan, batch, in, out))
      entry =
          made.insert_or_assign(&plan, Entry{plan, batch, in, out,
                                             std::make_unique<MatrixProducts>(
                                                 plan, batch, in, out)})
              .first;
    return *entry->second.products;
  }

private:
  struct Entry {
    GemmPlan plan;
    Loops<3> batch;
    ElementType in, out;
    std::unique_ptr<MatrixProducts> products;

    bool isOf(const GemmPlan &other, const Loops<3> &otherBatch,
              ElementType otherIn, ElementType otherOut) const {
      return in == otherIn && out == otherOut && plan == other &&
             batch == otherBatch;
    }
  };

  std::unordered_map<const GemmPlan *, Entry> made;
};

} // namespace

} // namespace shoal::rt

extern "C" void shoal_rt_onednn_gemm(const shoal::calls::GemmPlan &plan,
                                     const shoal::calls::Loops<3> &batch,
                                     shoal::support::ElementType in,
                                     shoal::support::ElementType out,
                                     const void *a, const void *b, void *c,
                                     void *parts) {
  using namespace shoal::rt;
  static MadeProducts products;
  OneThread limit;
  try {
    products.get(plan, batch, in, out).run(a, b, c, parts);
  } catch (const dnnl::error &error) {
    fail(error);
  }
}
