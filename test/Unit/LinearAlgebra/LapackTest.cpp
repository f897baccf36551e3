// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// What LAPACK is given and what becomes of what it returns, with routines that
// stand for its own.

#include "shoal/LinearAlgebra/Lapack.h"
#include "shoal/Runtime/ABI.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

using namespace shoal::lapack;

namespace {

using Complex = std::complex<float>;

/// What the routines below were called with.
std::vector<float> seen;
std::vector<Complex> seenComplex;
int calls = 0;

/// Adds 100 to each number, and says that item 0 of a call is singular.
void fakeGetrf(int *m, int *n, float *a, int *lda, int *pivots, int *info) {
  EXPECT_EQ(*lda, *m);
  seen.insert(seen.end(), a, a + *m * *n);
  for (int i = 0; i < *m * *n; ++i)
    a[i] += 100;
  for (int i = 0; i < std::min(*m, *n); ++i)
    pivots[i] = i + 1;
  *info = calls++ == 0 ? 2 : 0;
}

void fakeComplexGetrf(int *m, int *n, Complex *a, int * /*lda*/,
                      int * /*pivots*/, int *info) {
  seenComplex.assign(a, a + *m * *n);
  for (int i = 0; i < *m * *n; ++i)
    a[i] = std::conj(a[i]);
  *info = 0;
}

void fakeSyevd(const char *, const char *, int *n, float *a, int *,
               float *values, float *work, int *numWork, int *integers,
               int *numIntegers, int *info, size_t, size_t) {
  *info = 0;
  if (*numWork == -1) {
    *work = 8;
    *integers = 8;
    return;
  }
  EXPECT_GE(*numWork, 8);
  EXPECT_GE(*numIntegers, 8);
  ++calls;
  for (int i = 0; i < *n; ++i)
    values[i] = a[i * *n + i];
}

/// The eigenvalues of a rotation by a quarter, 1i and -1i, with right vectors.
void fakeGeev(const char *, const char *, int *n, float *, int *, float *reals,
              float *imags, float *, int *, float *right, int *, float *work,
              int *numWork, int *info, size_t, size_t) {
  *info = 0;
  if (*numWork == -1) {
    *work = 8;
    return;
  }
  ASSERT_EQ(*n, 2);
  reals[0] = reals[1] = 0;
  imags[0] = 1;
  imags[1] = -1;
  std::copy_n(std::vector<float>{1, 2, 3, 4}.begin(), 4, right);
}

void *find(const char *routine) {
  std::string name = routine;
  if (name == "sgetrf_")
    return reinterpret_cast<void *>(fakeGetrf);
  if (name == "cgetrf_")
    return reinterpret_cast<void *>(fakeComplexGetrf);
  if (name == "ssyevd_")
    return reinterpret_cast<void *>(fakeSyevd);
  if (name == "sgeev_")
    return reinterpret_cast<void *>(fakeGeev);
  return nullptr;
}

void shareOneByOne(int64_t count, double /*terms*/,
                   const std::function<void(int64_t, int64_t)> &body) {
  for (int64_t item = 0; item < count; ++item)
    body(item, item + 1);
}

const Library library{find, shareOneByOne};

/// A tensor with memory of its own.
template <typename T>
struct Tensor {
  std::vector<int64_t> shape;
  std::vector<T> data;

  explicit Tensor(std::vector<int64_t> shape, std::vector<T> given = {})
      : shape(std::move(shape)), data(std::move(given)) {
    int64_t size = 1;
    for (int64_t extent : this->shape)
      size *= extent;
    data.resize(size, T(-1));
  }

  shoal_tensor get() {
    int64_t type = std::is_same_v<T, float>    ? SHOAL_RT_F32
                   : std::is_same_v<T, double> ? SHOAL_RT_F64
                                               : SHOAL_RT_I32;
    return {type, int64_t(shape.size()), shape.data(), data.data()};
  }
};

int call(std::string_view function, const char *config,
         std::vector<shoal_tensor> operands,
         std::vector<shoal_tensor> results) {
  calls = 0;
  seen.clear();
  shoal_custom_call call{config, int64_t(operands.size()), operands.data(),
                         int64_t(results.size()), results.data()};
  return run(function, call, library);
}

TEST(Lapack, matrices_are_columns_there_and_rows_here) {
  Tensor<float> a({2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  Tensor<float> lu({2, 2, 3});
  Tensor<int> pivots({2, 2}), info({2});
  ASSERT_EQ(call("shoal_lapack_getrf", "", {a.get()},
                 {lu.get(), pivots.get(), info.get()}),
            0);
  EXPECT_EQ(seen, (std::vector<float>{1, 4, 2, 5, 3, 6, 7, 10, 8, 11, 9, 12}));
  EXPECT_EQ(lu.data, (std::vector<float>{101, 102, 103, 104, 105, 106, 107, 108,
                                         109, 110, 111, 112}));
  EXPECT_EQ(pivots.data, (std::vector<int>{1, 2, 1, 2}));
  EXPECT_EQ(info.data, (std::vector<int>{2, 0})); // of each matrix its own
}

TEST(Lapack, batches_have_any_number_of_dimensions) {
  Tensor<float> a({2, 3, 1, 1}, {1, 2, 3, 4, 5, 6}), lu({2, 3, 1, 1});
  Tensor<int> pivots({2, 3, 1}), info({2, 3});
  ASSERT_EQ(call("shoal_lapack_getrf", "", {a.get()},
                 {lu.get(), pivots.get(), info.get()}),
            0);
  EXPECT_EQ(lu.data, (std::vector<float>{101, 102, 103, 104, 105, 106}));
}

TEST(Lapack, halves_of_complex_numbers_are_put_together) {
  Tensor<float> real({1, 2}, {1, 2}), imag({1, 2}, {3, 4});
  Tensor<float> realOfLu({1, 2}), imagOfLu({1, 2});
  Tensor<int> pivots({1}), info({});
  ASSERT_EQ(call("shoal_lapack_getrf", "", {real.get(), imag.get()},
                 {realOfLu.get(), imagOfLu.get(), pivots.get(), info.get()}),
            0);
  EXPECT_EQ(seenComplex, (std::vector<Complex>{{1, 3}, {2, 4}}));
  EXPECT_EQ(realOfLu.data, real.data);
  EXPECT_EQ(imagOfLu.data, (std::vector<float>{-3, -4}));
}

TEST(Lapack, nothing_is_factorised_of_empty_matrices) {
  Tensor<float> a({3, 0, 2}), lu({3, 0, 2});
  Tensor<int> pivots({3, 0}), info({3});
  ASSERT_EQ(call("shoal_lapack_getrf", "", {a.get()},
                 {lu.get(), pivots.get(), info.get()}),
            0);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(info.data, (std::vector<int>{0, 0, 0}));
}

TEST(Lapack, what_is_not_finite_has_no_eigenvalues) {
  for (float bad : {std::numeric_limits<float>::quiet_NaN(),
                    std::numeric_limits<float>::infinity()}) {
    Tensor<float> a({2, 2, 2}, {5, 1, 1, 6, 5, bad, 1, 6});
    Tensor<float> vectors({2, 2, 2}), values({2, 2});
    Tensor<int> info({2});
    ASSERT_EQ(call("shoal_lapack_syevd", "L", {a.get()},
                   {vectors.get(), values.get(), info.get()}),
              0);
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(values.data, (std::vector<float>{5, 6, 0, 0}));
    EXPECT_EQ(info.data[0], 0);
    EXPECT_NE(info.data[1], 0);
  }
}

TEST(Lapack, vectors_of_conjugate_values_are_conjugate) {
  Tensor<float> a({2, 2}, {0, -1, 1, 0});
  Tensor<float> reals({2}), imags({2}), real({2, 2}), imag({2, 2});
  Tensor<int> info({});
  ASSERT_EQ(
      call("shoal_lapack_geev", "NV", {a.get()},
           {reals.get(), imags.get(), real.get(), imag.get(), info.get()}),
      0);
  EXPECT_EQ(imags.data, (std::vector<float>{1, -1}));
  EXPECT_EQ(real.data, (std::vector<float>{1, 1, 2, 2}));
  EXPECT_EQ(imag.data, (std::vector<float>{3, -3, 4, -4}));
}

TEST(Lapack, what_is_not_the_functions_is_refused) {
  Tensor<float> a({2, 2, 3}), lu({2, 2, 3}), otherBatch({3, 2, 3});
  Tensor<double> wide({2, 2, 3});
  Tensor<int> pivots({2, 2}), info({2}), tooMany({2, 3});
  auto getrf = [&](std::vector<shoal_tensor> results, const char *config = "") {
    return call("shoal_lapack_getrf", config, {a.get()}, std::move(results));
  };
  EXPECT_EQ(getrf({otherBatch.get(), pivots.get(), info.get()}), NoSuchForm);
  EXPECT_EQ(getrf({wide.get(), pivots.get(), info.get()}), NoSuchForm);
  EXPECT_EQ(getrf({lu.get(), tooMany.get(), info.get()}), NoSuchForm);
  EXPECT_EQ(getrf({lu.get(), pivots.get()}), NoSuchForm);
  EXPECT_EQ(getrf({lu.get(), pivots.get(), info.get(), info.get()}),
            NoSuchForm);
  EXPECT_EQ(getrf({lu.get(), pivots.get(), info.get()}, "L"), NoSuchForm);
  EXPECT_EQ(call("shoal_lapack_getrf", "", {}, {}), NoSuchForm);
  EXPECT_EQ(call("shoal_lapack_other", "", {a.get()}, {}), NoSuchForm);
  Tensor<float> square({2, 2}), values({2});
  Tensor<int> one({});
  for (const char *config : {"", "X", "LU"})
    EXPECT_EQ(call("shoal_lapack_syevd", config, {square.get()},
                   {square.get(), values.get(), one.get()}),
              NoSuchForm)
        << config;
}

TEST(Lapack, a_library_without_the_routine_says_so) {
  Tensor<double> a({1, 1}), lu({1, 1});
  Tensor<int> pivots({1}), info({});
  EXPECT_EQ(call("shoal_lapack_getrf", "", {a.get()},
                 {lu.get(), pivots.get(), info.get()}),
            NoRoutine);
}

TEST(Lapack, matrices_of_more_numbers_than_it_counts_are_refused) {
  int64_t matrix[] = {1 << 20, 1 << 20}, pivots[] = {1 << 20};
  shoal_tensor a{SHOAL_RT_F32, 2, matrix, nullptr};
  EXPECT_EQ(call("shoal_lapack_getrf", "", {a},
                 {a,
                  {SHOAL_RT_I32, 1, pivots, nullptr},
                  {SHOAL_RT_I32, 0, nullptr, nullptr}}),
            TooLarge);
}

} // namespace
