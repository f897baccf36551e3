// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Lines are transformed one after the other in f64, whatever their elements
// are: it costs little beside moving them, and twiddle factors in f32 would
// lose a digit and more.

#include "../Memory/Scratch.h"
#include "../Program/Calls.h"
#include "../Program/Numeric.h"
#include "SharedLines.h"
#include "shoal/Calls/FourierScratch.h"
#include "shoal/Calls/Lines.h"

#include <cstdarg>
#include <kissfft/kissfft.hh>
#include <map>
#include <memory>
#include <numbers>

using namespace shoal::rt;

namespace {

using Complex = std::complex<double>;
using Line = std::span<Complex>;

/// How lines of a length are transformed forwards. `work` holds as many numbers
/// as a line, both as many as `transformedLength` says; the result is in
/// `work`, and the line is overwritten.
class Plan {
public:
  explicit Plan(int64_t length)
      : length(length), power(transformedLength(length)),
        transform(power, /*inverse=*/false) {
    if (power != length)
      makeChirp();
  }

  void run(Line line, Line work) const {
    // The library takes 1 for a factor that it has no code of its own for.
    if (length == 1)
      work[0] = line[0];
    else if (power == length)
      transform.transform(line.data(), work.data());
    else
      convolve(line, work);
  }

  /// Whether threads may run it at the same time: factors that the library
  /// has no code of their own for go through memory of the transform.
  bool isReentrant() const {
    int64_t rest = power;
    for (int64_t factor : {2, 3, 5})
      while (rest % factor == 0)
        rest /= factor;
    return rest == 1;
  }

private:
  /// x[n] w^(n k) is w^(n^2/2) x[n] w^(-(k-n)^2/2) w^(k^2/2), a convolution
  /// with the chirp w^(-n^2/2) between two products with its conjugate.
  void makeChirp() {
    chirp.resize(length);
    for (int64_t n = 0, square = 0; n < length; ++n) {
      chirp[n] =
          std::polar(1.0, std::numbers::pi * double(square) / double(length));
      square = (square + 2 * n + 1) % (2 * length); // (n + 1)^2
    }
    std::vector<Complex> around(power);
    for (int64_t n = 0; n < length; ++n)
      around[n] = around[(power - n) % power] = chirp[n];
    spectrum.resize(power);
    transform.transform(around.data(), spectrum.data());
  }

  void convolve(Line line, Line work) const {
    for (int64_t n = 0; n < length; ++n)
      line[n] *= std::conj(chirp[n]);
    std::fill(line.begin() + length, line.end(), Complex());
    transform.transform(line.data(), work.data());
    // The inverse transform is the conjugate of that of the conjugate.
    for (int64_t n = 0; n < power; ++n)
      work[n] = std::conj(work[n] * spectrum[n]);
    transform.transform(work.data(), line.data());
    for (int64_t k = 0; k < length; ++k)
      work[k] = std::conj(line[k] * chirp[k]) / double(power);
  }

  int64_t length, power;
  kissfft<double> transform;
  std::vector<Complex> chirp, spectrum;
};

/// What a call transforms. Of a complex line there are two tensors, of a real
/// one there is one.
struct Transform {
  const FftCall &call;
  Lines from, to;
  const void *in[2] = {};
  void *out[2] = {};

  explicit Transform(const FftCall &call)
      : call(call), from(call.shape, call.axis), to(from) {
    if (call.numInputs == 1)
      to.count = call.length / 2 + 1;
    else if (call.numOutputs == 1)
      to.count = call.length;
  }
};

} // namespace

/// Twiddle factors are kept for the program's next step.
static const Plan &planFor(int64_t length) {
  static std::map<int64_t, std::unique_ptr<Plan>> plans;
  std::unique_ptr<Plan> &plan = plans[length];
  if (!plan)
    plan = std::make_unique<Plan>(length);
  return *plan;
}

/// The first element, and of an even number of them the one in the middle, have
/// no imaginary part where the transform is of real numbers.
static void makeEndsReal(Line line, int64_t length) {
  line[0].imag(0);
  if (length % 2 == 0)
    line[length / 2].imag(0);
}

/// The elements from `first` on; of half a line the others, too. For an inverse
/// transform their conjugates, of which the forward one is its conjugate.
template <typename T>
static void read(const Transform &t, int64_t first, Line line) {
  const auto *real = static_cast<const T *>(t.in[0]);
  const auto *imag = static_cast<const T *>(t.in[1]);
  double sign = t.call.inverse ? -1 : 1;
  for (int64_t i = 0; i < t.from.count; ++i) {
    int64_t place = first + i * t.from.inner;
    line[i] = {double(real[place]), imag ? sign * double(imag[place]) : 0};
  }
  if (t.from.count == t.call.length)
    return;
  makeEndsReal(line, t.call.length);
  for (int64_t i = t.from.count; i < t.call.length; ++i)
    line[i] = std::conj(line[t.call.length - i]);
}

template <typename T>
static void write(const Transform &t, int64_t first, Line line) {
  auto *real = static_cast<T *>(t.out[0]);
  auto *imag = static_cast<T *>(t.out[1]);
  double length = t.call.inverse ? double(t.call.length) : 1;
  double sign = t.call.inverse ? -1 : 1;
  for (int64_t i = 0; i < t.to.count; ++i) {
    int64_t place = first + i * t.to.inner;
    real[place] = T(line[i].real() / length);
    if (imag)
      imag[place] = T(sign * line[i].imag() / length);
  }
}

template <typename T>
static void transformAll(const Transform &t, Scratch &scratch) {
  const Plan &plan = planFor(t.call.length);
  int64_t size = transformedLength(t.call.length);
  // Worth nothing where threads would be in each other's way.
  double bytes = plan.isReentrant() ? static_cast<double>(size) * 64 : 0;
  SharedLines lines(t.from.number(), bytes);
  std::vector<std::array<Line, 2>> memory(lines.parts());
  for (auto &[line, work] : memory) {
    line = scratch.take<Complex>(size);
    work = scratch.take<Complex>(size);
  }
  lines.forEach([&](int64_t number, int64_t part) {
    auto [line, work] = memory[part];
    int64_t o = number / t.from.inner, i = number % t.from.inner;
    read<T>(t, o * t.from.count * t.from.inner + i, line);
    plan.run(line, work);
    if (t.call.numInputs == 1)
      makeEndsReal(work, t.call.length);
    write<T>(t, o * t.to.count * t.to.inner + i, work);
  });
}

extern "C" void shoal_rt_fft(const int64_t *desc, ...) {
  const auto &call = lookUp<FftCall>(desc);
  Transform transform(call);
  va_list arguments;
  va_start(arguments, desc);
  for (int64_t i = 0; i < call.numInputs; ++i)
    transform.in[i] = va_arg(arguments, const void *);
  for (int64_t i = 0; i < call.numOutputs; ++i)
    transform.out[i] = va_arg(arguments, void *);
  void *memory = va_arg(arguments, void *);
  va_end(arguments);
  Scratch scratch(memory, scratchBytes(call));
  if (transform.from.number() == 0)
    return;
  if (call.type == ElementType::F64)
    transformAll<double>(transform, scratch);
  else
    transformAll<float>(transform, scratch);
}
