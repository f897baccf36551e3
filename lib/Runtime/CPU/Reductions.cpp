// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Reductions.h"
#include "Device.h"

namespace shoal::rt {

template <typename T, Kind kind>
static void combineAll(void *in, void *inout, int *count, MPI_Datatype *) {
  const T *a = static_cast<const T *>(in);
  T *b = static_cast<T *>(inout);
  for (int i = 0; i < *count; ++i)
    b[i] = combine<kind>(a[i], b[i]);
}

template <typename T, Kind kind>
static MPI_Op ownOperator() {
  static MPI_Op op = [] {
    MPI_Op created;
    check(MPI_Op_create(combineAll<T, kind>, /*commute=*/1, &created),
          "MPI_Op_create");
    return created;
  }();
  return op;
}

static MPI_Datatype datatypeOf(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return MPI_FLOAT;
  case ElementType::F64:
    return MPI_DOUBLE;
  case ElementType::BF16:
  case ElementType::F16:
    return MPI_UINT16_T;
  case ElementType::I64:
    return MPI_INT64_T;
  case ElementType::I32:
    return MPI_INT32_T;
  case ElementType::I16:
    return MPI_INT16_T;
  case ElementType::I8:
    return MPI_INT8_T;
  case ElementType::I1:
  case ElementType::F8E4M3FN:
  case ElementType::F8E5M2:
    return MPI_UINT8_T;
  }
  fatal("unknown element type in a descriptor");
}

static MPI_Op builtinOperator(Kind kind) {
  constexpr size_t count = 6;
  const MPI_Op ops[count] = {MPI_SUM, MPI_PROD, MPI_MAX,
                             MPI_MIN, MPI_BAND, MPI_BOR};
  return ops[static_cast<size_t>(kind)];
}

/// Sums of integers wrap, but Open MPI's of 8 and 16 bits saturate where the
/// processor has instructions that do.
Reduction reductionFor(ElementType type, Kind kind) {
  bool wideFloat = type == ElementType::F32 || type == ElementType::F64;
  bool wideInteger = type == ElementType::I32 || type == ElementType::I64;
  bool narrowInteger = type == ElementType::I8 || type == ElementType::I16;
  bool linear = kind == Kind::Sum || kind == Kind::Prod;
  if (wideInteger || (wideFloat && linear) || (narrowInteger && !linear))
    return {datatypeOf(type), builtinOperator(kind)};
  MPI_Op op = dispatchKind(type, kind, []<typename T, Kind k>() -> MPI_Op {
    return ownOperator<T, k>();
  });
  return {datatypeOf(type), op};
}

} // namespace shoal::rt
