// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Eigenvalues and singular values.

#ifndef SHOAL_LIB_LINEARALGEBRA_SPECTRA_H
#define SHOAL_LIB_LINEARALGEBRA_SPECTRA_H

#include "Routines.h"

namespace shoal::lapack {

/// Eigenvalues and vectors of a symmetric or Hermitian matrix, of which one
/// triangle counts.
template <typename T>
class Syevd : public Routine<T> {
public:
  using Real = RealOf<T>;

  static Signature signatureOf(std::string_view) {
    return {
        {{Numbers::Own, "nn"}},
        {{Numbers::Own, "nn"}, {Numbers::Real, "n"}, {Numbers::Integer, ""}}};
  }
  static bool accepts(const Batch &batch) {
    return areLetters(batch.options, {"LU"});
  }

  Syevd(const Batch &batch, const Library &library)
      : Routine<T>(batch, library, "syevd", "heevd"),
        a(this->room(batch.operands[0].size())),
        values(this->template room<Real>(batch.size('n'))), work(1), reals(1),
        integers(1) {
    if (!this->isThere() || batch.size('n') == 0)
      return;
    decompose(/*isQuery=*/true);
    work = this->room(this->lengthOf(work[0]));
    reals = this->template room<Real>(this->lengthOf(reals[0]));
    integers = this->template room<Integer>(integers[0]);
  }

  void run(int64_t item) {
    readItem(this->batch.operands[0], item, a.data());
    Integer info = 0;
    if (!isFinite(a)) {
      std::fill(a.begin(), a.end(), T());
      std::fill(values.begin(), values.end(), Real());
      info = kNotFinite;
    } else if (this->batch.size('n') > 0) {
      info = decompose(/*isQuery=*/false);
    }
    writeItem(this->batch.results[0], item, a.data());
    writeItem(this->batch.results[1], item, values.data());
    this->writeInfo(2, item, info);
  }

private:
  Integer decompose(bool isQuery) {
    Integer n = this->size('n'), leading = this->leading('n'), info = 0;
    auto length = [&](size_t size) { return isQuery ? -1 : Integer(size); };
    Integer numWork = length(work.size()), numReals = length(reals.size()),
            numIntegers = length(integers.size());
    const char *uplo = this->batch.options.data();
    if constexpr (isComplex<T>)
      this->call("V", uplo, &n, a.data(), &leading, values.data(), work.data(),
                 &numWork, reals.data(), &numReals, integers.data(),
                 &numIntegers, &info, size_t(1), size_t(1));
    else
      this->call("V", uplo, &n, a.data(), &leading, values.data(), work.data(),
                 &numWork, integers.data(), &numIntegers, &info, size_t(1),
                 size_t(1));
    return info;
  }

  std::vector<T> a;
  std::vector<Real> values;
  std::vector<T> work;
  std::vector<Real> reals;
  std::vector<Integer> integers;
};

/// Singular values, and with A or S all vectors or as many as there are values.
template <typename T>
class Gesdd : public Routine<T> {
public:
  using Real = RealOf<T>;

  static Signature signatureOf(std::string_view job) {
    Signature signature{{{Numbers::Own, "mn"}}, {{Numbers::Real, "k"}}};
    if (job != "N") {
      signature.results.push_back({Numbers::Own, job == "A" ? "mm" : "mk"});
      signature.results.push_back({Numbers::Own, job == "A" ? "nn" : "kn"});
    }
    signature.results.push_back({Numbers::Integer, ""});
    return signature;
  }
  static bool accepts(const Batch &batch) {
    return areLetters(batch.options, {"ANS"}) &&
           batch.size('k') == std::min(batch.size('m'), batch.size('n'));
  }

  Gesdd(const Batch &batch, const Library &library)
      : Routine<T>(batch, library, "gesdd", "gesdd"),
        a(this->room(batch.operands[0].size())),
        values(this->template room<Real>(batch.size('k'))),
        u(this->room(sizeOf(1))), vt(this->room(sizeOf(2))), work(1),
        reals(this->template room<Real>(countReals())),
        integers(this->template room<Integer>(8 * batch.size('k'))) {
    if (!this->isThere() || batch.size('k') == 0)
      return;
    decompose(/*isQuery=*/true);
    work = this->room(this->lengthOf(work[0]));
  }

  void run(int64_t item) {
    readItem(this->batch.operands[0], item, a.data());
    Integer info = 0;
    if (!isFinite(a) || this->batch.size('k') == 0) {
      info = this->batch.size('k') == 0 ? 0 : kNotFinite;
      makeNothing();
    } else {
      info = decompose(/*isQuery=*/false);
    }
    size_t result = 0;
    writeItem(this->batch.results[result++], item, values.data());
    if (hasVectors()) {
      writeItem(this->batch.results[result++], item, u.data());
      writeItem(this->batch.results[result++], item, vt.data());
    }
    this->writeInfo(result, item, info);
  }

private:
  bool hasVectors() const { return this->batch.options != "N"; }
  int64_t sizeOf(size_t result) const {
    return hasVectors() ? this->batch.results[result].size() : 0;
  }

  /// What the reference says that a complex matrix needs.
  int64_t countReals() const {
    if (!isComplex<T>)
      return 0;
    int64_t least = this->batch.size('k'),
            most = std::max(this->batch.size('m'), this->batch.size('n'));
    if (!hasVectors())
      return 7 * least;
    return least * std::max(5 * least + 7, 2 * most + 2 * least + 1);
  }

  /// No values; of vectors those of the identity.
  void makeNothing() {
    std::fill(values.begin(), values.end(), Real());
    for (auto [vectors, letter] : {std::pair(&u, 'm'), std::pair(&vt, 'n')}) {
      std::fill(vectors->begin(), vectors->end(), T());
      if (this->batch.options == "A" && this->batch.size('k') == 0)
        for (int64_t i = 0, n = this->batch.size(letter); i < n; ++i)
          (*vectors)[i * n + i] = 1;
    }
  }

  Integer decompose(bool isQuery) {
    Integer m = this->size('m'), n = this->size('n'), info = 0;
    Integer leading = this->leading('m'), leadingOfVt = 1;
    if (hasVectors())
      leadingOfVt = static_cast<Integer>(this->batch.results[2].rows);
    Integer length = isQuery ? -1 : static_cast<Integer>(work.size());
    const char *job = this->batch.options.data();
    if constexpr (isComplex<T>)
      this->call(job, &m, &n, a.data(), &leading, values.data(), u.data(),
                 &leading, vt.data(), &leadingOfVt, work.data(), &length,
                 reals.data(), integers.data(), &info, size_t(1));
    else
      this->call(job, &m, &n, a.data(), &leading, values.data(), u.data(),
                 &leading, vt.data(), &leadingOfVt, work.data(), &length,
                 integers.data(), &info, size_t(1));
    return info;
  }

  std::vector<T> a;
  std::vector<Real> values;
  std::vector<T> u, vt, work;
  std::vector<Real> reals;
  std::vector<Integer> integers;
};

/// Eigenvalues of any matrix, and with V its left or right vectors.
template <typename T>
class Geev : public Routine<T> {
public:
  using Real = RealOf<T>;
  using Complex = ComplexOf<T>;

  static Signature signatureOf(std::string_view options) {
    Signature signature{{{Numbers::Own, "nn"}}, {{Numbers::Complex, "n"}}};
    for (char letter : options)
      if (letter == 'V')
        signature.results.push_back({Numbers::Complex, "nn"});
    signature.results.push_back({Numbers::Integer, ""});
    return signature;
  }
  static bool accepts(const Batch &batch) {
    return areLetters(batch.options, {"NV", "NV"});
  }

  Geev(const Batch &batch, const Library &library)
      : Routine<T>(batch, library, "geev", "geev"),
        a(this->room(batch.operands[0].size())),
        values(this->room(batch.size('n'))), imags(this->room(batch.size('n'))),
        left(this->room(sizeOf(0))), right(this->room(sizeOf(1))), work(1),
        reals(this->template room<Real>(2 * batch.size('n'))) {
    if (!this->isThere() || batch.size('n') == 0)
      return;
    decompose(/*isQuery=*/true);
    work = this->room(this->lengthOf(work[0]));
  }

  void run(int64_t item) {
    readItem(this->batch.operands[0], item, a.data());
    Integer info = 0;
    if (!isFinite(a)) {
      for (std::vector<T> *numbers : {&values, &imags, &left, &right})
        std::fill(numbers->begin(), numbers->end(), T());
      info = kNotFinite;
    } else if (this->batch.size('n') > 0) {
      info = decompose(/*isQuery=*/false);
    }
    size_t result = 0;
    writeItem(this->batch.results[result++], item, complexValues().data());
    for (size_t side : {0, 1})
      if (isMade(side))
        writeItem(this->batch.results[result++], item,
                  complexVectors(side == 0 ? left : right).data());
    this->writeInfo(result, item, info);
  }

private:
  bool isMade(size_t side) const { return this->batch.options[side] == 'V'; }
  int64_t sizeOf(size_t side) const {
    return isMade(side) ? this->batch.operands[0].size() : 0;
  }

  std::vector<Complex> complexValues() const {
    if constexpr (isComplex<T>) {
      return values;
    } else {
      std::vector<Complex> numbers(values.size());
      for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = {values[i], imags[i]};
      return numbers;
    }
  }

  /// Of a real matrix, vectors of two conjugate values are a column of real and
  /// one of imaginary parts.
  std::vector<Complex> complexVectors(const std::vector<T> &columns) const {
    if constexpr (isComplex<T>) {
      return columns;
    } else {
      std::vector<Complex> vectors(columns.begin(), columns.end());
      int64_t n = this->batch.size('n');
      for (int64_t j = 0; j + 1 < n; ++j) {
        if (imags[j] == 0)
          continue;
        for (int64_t i = j * n; i < (j + 1) * n; ++i) {
          vectors[i] = {columns[i], columns[i + n]};
          vectors[i + n] = std::conj(vectors[i]);
        }
        ++j;
      }
      return vectors;
    }
  }

  Integer decompose(bool isQuery) {
    Integer n = this->size('n'), leading = this->leading('n'), info = 0;
    Integer length = isQuery ? -1 : static_cast<Integer>(work.size());
    const char *letters = this->batch.options.data();
    if constexpr (isComplex<T>)
      this->call(letters, letters + 1, &n, a.data(), &leading, values.data(),
                 left.data(), &leading, right.data(), &leading, work.data(),
                 &length, reals.data(), &info, size_t(1), size_t(1));
    else
      this->call(letters, letters + 1, &n, a.data(), &leading, values.data(),
                 imags.data(), left.data(), &leading, right.data(), &leading,
                 work.data(), &length, &info, size_t(1), size_t(1));
    return info;
  }

  std::vector<T> a, values, imags, left, right, work;
  std::vector<Real> reals;
};

} // namespace shoal::lapack

#endif // SHOAL_LIB_LINEARALGEBRA_SPECTRA_H
