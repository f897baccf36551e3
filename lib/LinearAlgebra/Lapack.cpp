// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "shoal/LinearAlgebra/Lapack.h"
#include "Factors.h"
#include "Spectra.h"

#include <limits>

namespace shoal::lapack {

/// Of a matrix: its numbers times its smallest size, about.
static double countTerms(const Batch &batch) {
  const Array &matrix = batch.operands[0];
  return double(matrix.size()) * double(std::min(matrix.rows, matrix.columns));
}

template <typename T, template <typename> typename Function>
static int runAll(const Batch &batch, const Library &library) {
  if (!Function<T>(batch, library).isThere())
    return NoRoutine;
  library.share(batch.count, countTerms(batch),
                [&](int64_t begin, int64_t end) {
                  Function<T> function(batch, library);
                  for (int64_t item = begin; item < end; ++item)
                    function.run(item);
                });
  return 0;
}

/// Whether LAPACK's integers count the numbers of every matrix.
static bool isCounted(const Batch &batch) {
  return std::ranges::all_of(batch.operands, [](const Array &array) {
    return array.size() <= std::numeric_limits<Integer>::max() / 16;
  });
}

template <template <typename> typename Function>
static int runOf(const shoal_custom_call &call, const Library &library) {
  Signature signature = Function<float>::signatureOf(call.config);
  std::optional<Batch> batch = Batch::read(call, signature);
  if (!batch || !Function<float>::accepts(*batch))
    return NoSuchForm;
  if (!isCounted(*batch))
    return TooLarge;
  if (batch->isComplex)
    return batch->isDouble
               ? runAll<std::complex<double>, Function>(*batch, library)
               : runAll<std::complex<float>, Function>(*batch, library);
  return batch->isDouble ? runAll<double, Function>(*batch, library)
                         : runAll<float, Function>(*batch, library);
}

int run(std::string_view function, const shoal_custom_call &call,
        const Library &library) {
  using Run = int (*)(const shoal_custom_call &, const Library &);
  static const std::map<std::string_view, Run> functions = {
      {"shoal_lapack_getrf", runOf<Getrf>},
      {"shoal_lapack_geqrf", runOf<Geqrf>},
      {"shoal_lapack_orgqr", runOf<Orgqr>},
      {"shoal_lapack_potrf", runOf<Potrf>},
      {"shoal_lapack_trsm", runOf<Trsm>},
      {"shoal_lapack_syevd", runOf<Syevd>},
      {"shoal_lapack_gesdd", runOf<Gesdd>},
      {"shoal_lapack_geev", runOf<Geev>},
  };
  auto found = functions.find(function);
  return found == functions.end() ? NoSuchForm : found->second(call, library);
}

} // namespace shoal::lapack
