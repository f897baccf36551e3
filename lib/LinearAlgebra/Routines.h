// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// One class a function, for T of float, double and the complex numbers of
// either: `signatureOf`, `accepts`, and the function of one matrix, run(item),
// with memory for it, which threads do not share.

#ifndef SHOAL_LIB_LINEARALGEBRA_ROUTINES_H
#define SHOAL_LIB_LINEARALGEBRA_ROUTINES_H

#include "Batch.h"
#include "shoal/LinearAlgebra/Lapack.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

namespace shoal::lapack {

/// LAPACK's integers.
using Integer = int;

/// "sgetrf_"; complex numbers have names of their own where matrices are
/// symmetric or orthogonal.
template <typename T>
std::string nameOf(const char *real, const char *complex) {
  bool isDouble = std::is_same_v<RealOf<T>, double>;
  if constexpr (isComplex<T>)
    return (isDouble ? "z" : "c") + std::string(complex) + "_";
  else
    return (isDouble ? "d" : "s") + std::string(real) + "_";
}

/// What the functions of one matrix have in common.
template <typename T>
class Routine {
public:
  using Real = RealOf<T>;

  Routine(const Batch &batch, const Library &library, const char *real,
          const char *complex)
      : batch(batch), address(library.find(nameOf<T>(real, complex).c_str())) {}

  bool isThere() const { return address != nullptr; }

protected:
  /// Calls the routine; behind its arguments go the lengths of those that are
  /// letters.
  template <typename... Args>
  void call(Args... args) const {
    reinterpret_cast<void (*)(Args...)>(address)(args...);
  }

  /// How much a routine asks for where it is called with a length of -1. A
  /// float may have rounded it down.
  static Integer lengthOf(T asked) {
    double length = std::real(asked);
    return static_cast<Integer>(std::ceil(length * (1 + 1e-6)));
  }

  Integer size(char letter) const {
    return static_cast<Integer>(batch.size(letter));
  }
  /// Of a matrix with so many rows: LAPACK wants no 0.
  Integer leading(char letter) const { return std::max(size(letter), 1); }
  /// The memory of rows x columns numbers, of which there is always one.
  template <typename Element = T>
  static std::vector<Element> room(int64_t count) {
    return std::vector<Element>(std::max<int64_t>(count, 1));
  }

  void writeInfo(size_t result, int64_t item, Integer info) const {
    writeItem(batch.results[result], item, &info);
  }

  const Batch &batch;

private:
  void *address;
};

/// Whether all numbers are finite.
template <typename T>
bool isFinite(const std::vector<T> &numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](T number) {
    return std::isfinite(std::real(number)) && std::isfinite(std::imag(number));
  });
}

/// What `info` is of a matrix that is not finite: LAPACK's word for an operand
/// that is none of its.
inline constexpr Integer kNotFinite = -4;

/// Whether `options` are as many letters as the sets, one of each.
inline bool areLetters(std::string_view options,
                       std::initializer_list<std::string_view> sets) {
  return std::ranges::equal(options, sets,
                            [](char letter, std::string_view set) {
                              return set.find(letter) != set.npos;
                            });
}

} // namespace shoal::lapack

#endif // SHOAL_LIB_LINEARALGEBRA_ROUTINES_H
