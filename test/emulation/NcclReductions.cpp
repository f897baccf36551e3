// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What NCCL's collectives compute: nccl/src/device/reduce_kernel.h says how.
// Small floats are rounded after each pair; max and min of floats are those of
// fmax and fmin, which pass over NaN; integers wrap.

#include "Error.h"
#include "Nccl.h"
#include "shoal/Support/SmallFloat.h"

#include <cmath>
#include <cstring>
#include <type_traits>

namespace shoal::emulation {

using support::BFloat16;
using support::Float16;

namespace {

float widen(BFloat16 value) { return support::toFloat(value); }
float widen(Float16 value) { return support::toFloat(value); }
template <typename T>
T widen(T value) {
  return value;
}

template <typename T, typename From>
T narrow(From value) {
  if constexpr (std::is_same_v<T, BFloat16>)
    return support::toBFloat16(value);
  else if constexpr (std::is_same_v<T, Float16>)
    return support::toFloat16(value);
  else
    return static_cast<T>(value);
}

template <ncclRedOp_t op, typename T>
T combine(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    if constexpr (op == ncclMax)
      return a > b ? a : b;
    else if constexpr (op == ncclMin)
      return a < b ? a : b;
    // Of unsigned numbers, as signed ones must not overflow.
    using Unsigned = std::make_unsigned_t<T>;
    uint64_t x = static_cast<Unsigned>(a), y = static_cast<Unsigned>(b);
    return static_cast<T>(op == ncclSum ? x + y : x * y);
  } else if constexpr (op == ncclSum) {
    return a + b;
  } else if constexpr (op == ncclProd) {
    return a * b;
  } else if constexpr (op == ncclMax) {
    return std::fmax(a, b);
  } else {
    return std::fmin(a, b);
  }
}

template <ncclRedOp_t op, typename T>
void combineAll(void *in, void *inout, int *count, MPI_Datatype *) {
  const T *a = static_cast<const T *>(in);
  T *b = static_cast<T *>(inout);
  for (int i = 0; i < *count; ++i)
    b[i] = narrow<T>(combine<op>(widen(a[i]), widen(b[i])));
}

template <ncclRedOp_t op, typename T>
MPI_Op makeOp() {
  static MPI_Op created = [] {
    MPI_Op made;
    MPI_Op_create(&combineAll<op, T>, /*commute=*/1, &made);
    return made;
  }();
  return created;
}

/// The mean's division comes behind its sum.
template <typename T>
MPI_Op opOf(ncclRedOp_t reduction) {
  switch (reduction) {
  case ncclProd:
    return makeOp<ncclProd, T>();
  case ncclMax:
    return makeOp<ncclMax, T>();
  case ncclMin:
    return makeOp<ncclMin, T>();
  default:
    return makeOp<ncclSum, T>();
  }
}

/// Calls f.operator()<T>() with the C++ type. The type is one that NCCL reduces
/// and the emulator knows: see submit.
template <typename F>
auto dispatch(ncclDataType_t type, F &&f) {
  switch (type) {
  case ncclInt8:
    return f.template operator()<int8_t>();
  case ncclUint8:
    return f.template operator()<uint8_t>();
  case ncclInt32:
    return f.template operator()<int32_t>();
  case ncclUint32:
    return f.template operator()<uint32_t>();
  case ncclInt64:
    return f.template operator()<int64_t>();
  case ncclUint64:
    return f.template operator()<uint64_t>();
  case ncclFloat16:
    return f.template operator()<Float16>();
  case ncclFloat64:
    return f.template operator()<double>();
  case ncclBfloat16:
    return f.template operator()<BFloat16>();
  default:
    return f.template operator()<float>();
  }
}

template <typename T>
void divideAll(void *data, size_t count, int ranks) {
  T *values = static_cast<T *>(data);
  for (size_t i = 0; i < count; ++i) {
    auto value = widen(values[i]);
    values[i] = narrow<T>(value / static_cast<decltype(value)>(ranks));
  }
}

template <typename T>
void reduce(const Call &call) {
  const Communicator &group = *call.communicator;
  MPI_Op op = opOf<T>(call.reduction);
  auto count = static_cast<int>(call.count);
  MPI_Datatype type = mpiType(call.type);
  if (call.kind == CallKind::AllReduce) {
    const void *source =
        call.source == call.target ? MPI_IN_PLACE : call.source;
    MPI_Allreduce(source, call.target, count, type, op, group.comm);
  } else {
    // MPI's form in place is another than NCCL's.
    size_t bytes = call.bytes() * static_cast<size_t>(group.size);
    std::vector<char> copy(bytes);
    std::memcpy(copy.data(), call.source, bytes);
    MPI_Reduce_scatter_block(copy.data(), call.target, count, type, op,
                             group.comm);
  }
  if (call.reduction == ncclAvg)
    divideAll<T>(call.target, call.count, group.size);
}

} // namespace

void runCollective(const Call &call) {
  if (call.count == 0)
    return;
  const Communicator &group = *call.communicator;
  if (call.kind != CallKind::AllGather)
    return dispatch(call.type, [&]<typename T>() { reduce<T>(call); });
  auto count = static_cast<int>(call.count);
  const char *own = static_cast<const char *>(call.target) +
                    static_cast<size_t>(group.rank) * call.bytes();
  MPI_Datatype type = mpiType(call.type);
  MPI_Allgather(call.source == own ? MPI_IN_PLACE : call.source, count, type,
                call.target, count, type, group.comm);
}

} // namespace shoal::emulation
