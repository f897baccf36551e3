// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "TestScratch.h"
#include "shoal/Calls/FourierScratch.h"
#include "shoal/Runtime/ABI.h"

#include <cmath>
#include <complex>
#include <gtest/gtest.h>
#include <numbers>

using namespace shoal::calls;

namespace {

template <typename T>
using Halves = std::vector<std::vector<T>>;
using Complex = std::complex<double>;

template <typename T>
constexpr ElementType typeOf =
    sizeof(T) == 8 ? ElementType::F64 : ElementType::F32;

/// What the call makes, of as many tensors as it has outputs.
template <typename T>
Halves<T> run(const FftCall &call, const Halves<T> &in, size_t size) {
  std::vector<int64_t> desc = encode(call);
  Halves<T> out(call.numOutputs, std::vector<T>(size, T(-77)));
  TestScratch scratch(scratchBytes(call));
  if (in.size() == 1)
    shoal_rt_fft(desc.data(), in[0].data(), out[0].data(), out[1].data(),
                 scratch.data());
  else if (out.size() == 1)
    shoal_rt_fft(desc.data(), in[0].data(), in[1].data(), out[0].data(),
                 scratch.data());
  else
    shoal_rt_fft(desc.data(), in[0].data(), in[1].data(), out[0].data(),
                 out[1].data(), scratch.data());
  return out;
}

/// Numbers without a pattern, of size 1 at most.
double number(int64_t i) { return std::sin(double(i * i % 1009) + 0.3); }

template <typename T>
Halves<T> makeHalves(int64_t size) {
  Halves<T> halves(2, std::vector<T>(size));
  for (int64_t i = 0; i < size; ++i) {
    halves[0][i] = T(number(i));
    halves[1][i] = T(number(i + size));
  }
  return halves;
}

/// Sum k of a line, by the definition.
template <typename T>
Complex sumAt(const Halves<T> &in, int64_t k, double sign) {
  auto length = static_cast<int64_t>(in[0].size());
  Complex sum = 0;
  for (int64_t n = 0; n < length; ++n)
    sum += Complex(in[0][n], in[1][n]) *
           std::polar(1.0, sign * 2 * std::numbers::pi *
                               double(n * k % length) / double(length));
  return sum;
}

/// The largest difference, in units of what the line's numbers add up to.
template <typename T>
double errorOf(int64_t length, bool inverse) {
  FftCall call{typeOf<T>, 2, 2, inverse, 0, length, {length}};
  Halves<T> in = makeHalves<T>(length), out = run<T>(call, in, length);
  double scale = inverse ? 1 / double(length) : 1, worst = 0;
  for (int64_t k = 0; k < length; ++k) {
    Complex difference =
        Complex(out[0][k], out[1][k]) - scale * sumAt(in, k, inverse ? 1 : -1);
    worst = std::max(worst, std::abs(difference) / scale);
  }
  return worst / std::sqrt(double(length));
}

// Products of small factors, primes that are steps, and those that are not.
TEST(Fft, lengths_of_all_kinds) {
  for (int64_t length :
       {1, 2, 3, 4, 5, 6, 7, 8, 12, 49, 60, 61, 64, 67, 122, 127, 134, 600}) {
    for (bool inverse : {false, true}) {
      EXPECT_LT(errorOf<double>(length, inverse), 1e-13) << length;
      EXPECT_LT(errorOf<float>(length, inverse), 3e-7) << length;
    }
  }
}

TEST(Fft, large_primes_take_the_time_of_a_convolution) {
  EXPECT_EQ(transformedLength(61 * 59), 61 * 59);
  EXPECT_EQ(transformedLength(67), 256);
  EXPECT_EQ(transformedLength(1009), 2048);
  EXPECT_LT(errorOf<double>(1009, false), 1e-13);
}

TEST(Fft, lines_along_an_inner_dimension) {
  int64_t length = 6, inner = 2;
  FftCall call{ElementType::F64, 2, 2, false, 1, length, {3, length, inner}};
  Halves<double> in = makeHalves<double>(3 * length * inner);
  Halves<double> out = run<double>(call, in, in[0].size());
  for (int64_t o = 0; o < 3; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      Halves<double> line(2);
      for (int64_t n = 0; n < length; ++n)
        for (int half : {0, 1})
          line[half].push_back(in[half][(o * length + n) * inner + i]);
      for (int64_t k = 0; k < length; ++k) {
        Complex sum = sumAt(line, k, -1);
        EXPECT_NEAR(out[0][(o * length + k) * inner + i], sum.real(), 1e-13);
        EXPECT_NEAR(out[1][(o * length + k) * inner + i], sum.imag(), 1e-13);
      }
    }
}

TEST(Fft, real_lines_and_back) {
  for (int64_t length : {1, 2, 5, 6, 67, 134}) {
    std::vector<float> line(2 * length);
    for (size_t i = 0; i < line.size(); ++i)
      line[i] = float(number(int64_t(i)));
    int64_t half = length / 2 + 1;
    FftCall there{ElementType::F32, 1, 2, false, 1, length, {2, length}};
    Halves<float> sums = run<float>(there, {line}, 2 * half);
    EXPECT_EQ(sums[1][0], 0);
    // The imaginary part of the first sum does not count.
    sums[1][0] = 9;
    FftCall back{ElementType::F32, 2, 1, true, 1, length, {2, half}};
    std::vector<float> again = run<float>(back, sums, 2 * length)[0];
    for (size_t i = 0; i < line.size(); ++i)
      EXPECT_NEAR(again[i], line[i], 1e-6) << length;
  }
}

TEST(Fft, no_lines) {
  FftCall call{ElementType::F32, 2, 2, false, 1, 4, {0, 4}};
  run<float>(call, {{}, {}}, 0);
}

} // namespace
