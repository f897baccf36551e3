// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Gemm.h"
#include "../Common/Memory.h"
#include "StridedCopy.h"

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

/// c (+)= a b, by whatever level of BLAS the sizes ask for.
template <typename T>
void multiply(const GemmPlan &plan, const T *a, const T *b, T *c, T beta) {
  int m = static_cast<int>(plan.m), n = static_cast<int>(plan.n),
      k = static_cast<int>(plan.k);
  if (m == 1 && n == 1) {
    T sum = dot(k, a, step(k, plan.a.column), b, step(k, plan.b.row));
    *c = beta == T(0) ? sum : *c + sum;
    return;
  }
  if (n == 1)
    return multiplyVector(m, k, a, plan.a, b, plan.b.row, beta, c, plan.c.row);
  if (m == 1)
    return multiplyVector(n, k, b, {plan.b.column, plan.b.row}, a,
                          plan.a.column, beta, c, plan.c.column);
  CBLAS_ORDER order = plan.c.column == 1 ? CblasRowMajor : CblasColMajor;
  Stored storedA(order, m, k, plan.a), storedB(order, k, n, plan.b);
  int ldc =
      static_cast<int>(order == CblasRowMajor ? plan.c.row : plan.c.column);
  gemm(order, storedA.transpose, storedB.transpose, m, n, k, a, storedA.leading,
       b, storedB.leading, beta, c, ldc);
}

const char *elementAt(const void *tensor, ElementType type, int64_t offset) {
  return static_cast<const char *>(tensor) +
         offset * static_cast<int64_t>(support::elementSize(type));
}

template <typename T>
void runBatch(const GemmPlan &plan, const T *a, const T *b, T *c) {
  forEach<3>(plan.outer, [&](const Offsets<3> &at) {
    T beta = 0;
    forEach<3>(plan.summed, [&](const Offsets<3> &term) {
      multiply<T>(plan, a + at[0] + term[0], b + at[1] + term[1], c + at[2],
                  beta);
      beta = 1;
    });
  });
}

template <typename T>
void run(const GemmPlan &plan, ElementType compute, const GemmTensors &t,
         const ProductMemory &memory) {
  const auto &[packA, packB, packC] = plan.packing;
  // A tensor's part for one batch index: the tensor itself or its scratch.
  auto resolve = [&](size_t i, const void *tensor, int64_t offset) {
    return plan.packing[i]
               ? static_cast<T *>(memory.packed[i])
               : static_cast<T *>(const_cast<void *>(tensor)) + offset;
  };
  forEach<3>(plan.batch, [&](const Offsets<3> &at) {
    T *a = resolve(0, t.a, at[0]), *b = resolve(1, t.b, at[1]);
    T *c = resolve(2, t.c, at[2]);
    if (packA)
      copyStrided(*packA, t.typeA, elementAt(t.a, t.typeA, at[0]), compute, a);
    if (packB)
      copyStrided(*packB, t.typeB, elementAt(t.b, t.typeB, at[1]), compute, b);
    runBatch<T>(plan, a, b, c);
    if (!packC)
      return;
    Loops<2> back = *packC;
    for (Loop<2> &loop : back)
      std::swap(loop.strides[0], loop.strides[1]);
    copyStrided(std::move(back), compute, c, t.typeC,
                const_cast<char *>(elementAt(t.c, t.typeC, at[2])));
  });
}

} // namespace

support::Status prepareLibrary() {
  void *room = mmap(nullptr, kLibraryBytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    return support::Error{"not enough memory: the BLAS library needs " +
                          formatBytes(static_cast<double>(kLibraryBytes)) +
                          " of address space"};
  munmap(room, kLibraryBytes);
  float one = 1, product = 0;
  gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, &one, 1, &one, 1, 0,
       &product, 1);
  return std::nullopt;
}

void runGemm(const GemmPlan &plan, ElementType compute,
             const GemmTensors &tensors, const ProductMemory &memory) {
  if (compute == ElementType::F64)
    run<double>(plan, compute, tensors, memory);
  else
    run<float>(plan, compute, tensors, memory);
}

} // namespace shoal::rt
