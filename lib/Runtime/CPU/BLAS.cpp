// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "BLAS.h"
#include "../Memory/Memory.h"
#include "../Program/Numeric.h"
#include "GemmPiece.h"

#include <cblas.h>
#include <sys/mman.h>

namespace shoal::rt {

/// What OpenBLAS maps for a thread (BUFFER_SIZE in its common_x86_64.h, and a
/// page before it), of which products touch a few MiB.
static constexpr size_t kLibraryBytes = (size_t(128) << 20) + (64 << 10);

namespace {

inline void gemm(CBLAS_ORDER order, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb,
                 int m, int n, int k, const float *a, int lda, const float *b,
                 int ldb, float beta, float *c, int ldc) {
  cblas_sgemm(order, ta, tb, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}
inline void gemm(CBLAS_ORDER order, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb,
                 int m, int n, int k, const double *a, int lda, const double *b,
                 int ldb, double beta, double *c, int ldc) {
  cblas_dgemm(order, ta, tb, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}
inline void gemv(CBLAS_ORDER order, int m, int n, const float *a, int lda,
                 const float *x, int incx, float beta, float *y, int incy) {
  cblas_sgemv(order, CblasNoTrans, m, n, 1, a, lda, x, incx, beta, y, incy);
}
inline void gemv(CBLAS_ORDER order, int m, int n, const double *a, int lda,
                 const double *x, int incx, double beta, double *y, int incy) {
  cblas_dgemv(order, CblasNoTrans, m, n, 1, a, lda, x, incx, beta, y, incy);
}
inline float dot(int n, const float *x, int incx, const float *y, int incy) {
  return cblas_sdot(n, x, incx, y, incy);
}
inline double dot(int n, const double *x, int incx, const double *y, int incy) {
  return cblas_ddot(n, x, incx, y, incy);
}

/// How BLAS is to read a matrix of rows x columns in a given order.
struct Stored {
  CBLAS_TRANSPOSE transpose;
  int leading;

  Stored(CBLAS_ORDER order, int64_t rows, int64_t columns,
         MatrixStrides strides) {
    StoredMatrix stored(rows, columns, strides);
    transpose =
        stored.rowMajor == (order == CblasRowMajor) ? CblasNoTrans : CblasTrans;
    leading = static_cast<int>(stored.leading);
  }
};

int step(int64_t size, int64_t stride) {
  return static_cast<int>(size == 1 ? 1 : stride);
}

/// y[rows] = a[rows, columns] x[columns].
template <typename T>
void multiplyVector(int64_t rows, int64_t columns, const T *a,
                    MatrixStrides strides, const T *x, int64_t xStride, T beta,
                    T *y, int64_t yStride) {
  Stored stored(CblasRowMajor, rows, columns, strides);
  bool rowMajor = stored.transpose == CblasNoTrans;
  gemv(rowMajor ? CblasRowMajor : CblasColMajor, static_cast<int>(rows),
       static_cast<int>(columns), a, stored.leading, x, step(columns, xStride),
       beta, y, step(rows, yStride));
}

/// Piece c (+)= a b, by whatever level of BLAS the product's sizes ask for.
template <typename T>
void multiply(const GemmPlan &plan, const GemmPiece &piece, const T *a,
              const T *b, T *c, T beta) {
  int m = static_cast<int>(piece.m), n = static_cast<int>(piece.n),
      k = static_cast<int>(plan.k);
  if (plan.m == 1 && plan.n == 1) {
    T sum = dot(k, a, step(k, plan.a.column), b, step(k, plan.b.row));
    *c = beta == T(0) ? sum : *c + sum;
    return;
  }
  if (plan.n == 1)
    return multiplyVector(m, k, a, plan.a, b, plan.b.row, beta, c, plan.c.row);
  if (plan.m == 1)
    return multiplyVector(n, k, b, {plan.b.column, plan.b.row}, a,
                          plan.a.column, beta, c, plan.c.column);
  CBLAS_ORDER order = plan.c.column == 1 ? CblasRowMajor : CblasColMajor;
  Stored storedA(order, m, k, plan.a), storedB(order, k, n, plan.b);
  int ldc =
      static_cast<int>(order == CblasRowMajor ? plan.c.row : plan.c.column);
  gemm(order, storedA.transpose, storedB.transpose, m, n, k, a, storedA.leading,
       b, storedB.leading, beta, c, ldc);
}

/// Threads share the products of all iterations of `nest`, and their pieces.
template <typename T>
void runProducts(const GemmPlan &plan, const Loops<3> &nest, const T *a,
                 const T *b, T *c) {
  GemmPieces pieces = cutProduct(plan);
  Loops<3> loops = nest;
  loops.push_back({pieces.count(), {0, 0, 0}});
  parallelFor({iterations(loops), costOf(plan, pieces, sizeof(T))},
              [&](int64_t begin, int64_t end) {
                int64_t number = begin;
                forRange<3>(loops, begin, end, [&](const Offsets<3> &at) {
                  GemmPiece piece(plan, pieces, number++ % pieces.count());
                  const T *from = a + at[0] + piece.begin[0];
                  const T *with = b + at[1] + piece.begin[1];
                  T *to = c + at[2] + piece.begin[2];
                  T beta = 0;
                  forEach<3>(plan.summed, [&](const Offsets<3> &term) {
                    multiply<T>(plan, piece, from + term[0], with + term[1], to,
                                beta);
                    beta = 1;
                  });
                });
              });
}

} // namespace

} // namespace shoal::rt

void shoal_rt_blas_prepare(shoal::support::Status &status) {
  using namespace shoal::rt;
  status = std::nullopt;
  size_t bytes = kLibraryBytes * threads();
  void *room = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    status = shoal::support::Error{
        "not enough memory: the BLAS library needs " +
        formatBytes(static_cast<double>(bytes)) + " of address space" +
        (threads() > 1 ? " for " + std::to_string(threads()) + " threads"
                       : "")};
    return;
  }
  munmap(room, bytes);
  float one = 1, product = 0;
  gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, &one, 1, &one, 1, 0,
       &product, 1);
}

void shoal_rt_blas_gemm(const shoal::calls::GemmPlan &plan,
                        const shoal::calls::Loops<3> &batch,
                        shoal::support::ElementType compute, const void *a,
                        const void *b, void *c) {
  using namespace shoal::rt;
  Loops<3> nest = batch;
  nest.insert(nest.end(), plan.outer.begin(), plan.outer.end());
  dispatchType(compute, [&]<typename T>() {
    if constexpr (std::is_floating_point_v<T>)
      runProducts<T>(plan, nest, static_cast<const T *>(a),
                     static_cast<const T *>(b), static_cast<T *>(c));
    else
      fatal("BLAS multiplies f32 and f64 alone");
  });
}
