// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who sends what to whom when each device needs a box of a tensor of which the
// devices hold blocks. Plain arithmetic on one device's view, free of MPI.

#ifndef SHOAL_LIB_RUNTIME_COLLECTIVES_EXCHANGEPLAN_H
#define SHOAL_LIB_RUNTIME_COLLECTIVES_EXCHANGEPLAN_H

#include "../Program/Calls.h"
#include "../Program/Mesh.h"
#include "shoal/Calls/Box.h"

namespace shoal::rt {

struct ExchangeSpec {
  const Mesh *source;
  const Mesh *target;
  std::vector<ExchangeDim> dims;
};

/// The elements from `first` on, `count` of them, of `box` in row-major order.
struct Transfer {
  int64_t rank;
  Box box;
  int64_t first, count;
};

/// What one device does. Between two devices there is at most one transfer in
/// each direction. An element is taken from the device's own block where it is
/// there; otherwise from one of the devices that have it. These share the
/// demand for their block evenly, to an element: all that is wanted of it, in
/// the order of the receivers, is cut into equal parts. Devices that differ
/// only on axes that neither end uses stay among themselves.
struct ExchangePlan {
  /// Where the device's block and its wanted box begin.
  std::vector<int64_t> inBegin, outBegin;
  std::vector<int64_t> inShape, outShape;
  Box local;
  std::vector<Transfer> sends, receives;

  /// Elements that go out and that come in.
  int64_t sent() const;
  int64_t received() const;
};

/// The plan of the device `rank`. Takes time linear in the devices for each
/// block that it needs a part of, less where blocks have one holder.
ExchangePlan planExchange(const ExchangeSpec &spec, int64_t rank);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_COLLECTIVES_EXCHANGEPLAN_H
