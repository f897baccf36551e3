// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Exchange.h"
#include "StridedView.h"

#include "shoal/Reference/Signature.h"
#include "shoal/Sharding/Mesh.h"

using namespace mlir;

namespace shoal::reference {

GridValue splitArgument(const Port &port, const Tensor &global) {
  if (!port.grid)
    return {global};
  return splitArguments(port, GridValue(port.grid->numDevices(), global));
}

GridValue splitArguments(const Port &port, const GridValue &globals) {
  SmallVector<DimExchange> dims;
  for (const DeviceGrid::Digits &digits : port.digits)
    dims.push_back({/*gathered=*/{}, /*split=*/digits});
  if (dims.empty()) // a scalar, or a port that nothing shards
    return globals;
  return exchange(*port.grid, dims, globals, port.local);
}

namespace {
/// Puts the shards of a result into the global tensor.
struct Assembler {
  const Port &port;
  Tensor global;
  /// The device that wrote each element, -1 for none.
  std::vector<int64_t> writer;

  explicit Assembler(const Port &port)
      : port(port), global(port.global), writer(port.global.numElements(), -1) {
  }

  /// The rows of the global tensor that the device holds, and where they are
  /// in its shard.
  std::pair<StridedView, StridedView> viewsOf(int64_t device) const {
    StridedView whole = StridedView::whole(port.global.shape);
    StridedView shard = StridedView::whole(port.local.shape);
    int64_t position = port.grid->positionOf(device);
    for (auto [d, digits] : llvm::enumerate(port.digits)) {
      RowRange rows =
          shardRows(port.global.shape[d], DeviceGrid::sizeOf(digits),
                    DeviceGrid::indexOver(digits, position));
      whole.base += rows.begin * whole.strides[d];
      whole.shape[d] = shard.shape[d] = rows.size();
    }
    return {whole, shard};
  }

  /// Returns the device that wrote another value before, if one did.
  std::optional<int64_t> add(int64_t device, const Tensor &value) {
    auto [whole, shard] = viewsOf(device);
    Tensor valid = gather(value, shard);
    MutableArrayRef<Scalar> elements = global.getMutableElements();
    std::optional<int64_t> other;
    int64_t next = 0;
    forEachPlace(whole, [&](int64_t place) {
      Scalar element = valid[next++];
      if (writer[place] < 0) {
        writer[place] = device;
        elements[place] = element;
      } else if (!isSame(global.getElementType(), elements[place], element)) {
        other = writer[place];
      }
    });
    return other;
  }
};
} // namespace

FailureOr<Tensor> assembleResult(const Port &port, const GridValue &value,
                                 function_ref<InFlightDiagnostic()> emitError) {
  if (!port.grid)
    return value.front();
  auto all = llvm::to_vector(llvm::seq<int64_t>(value.size()));
  return assembleResult(port, value, all, emitError);
}

FailureOr<Tensor> assembleResult(const Port &port, const GridValue &value,
                                 ArrayRef<int64_t> devices,
                                 function_ref<InFlightDiagnostic()> emitError) {
  Assembler assembler(port);
  for (int64_t device : devices)
    if (std::optional<int64_t> other = assembler.add(device, value[device]))
      return emitError() << port.place << ": devices " << *other << " and "
                         << device << " hold different copies of one element";
  return assembler.global;
}

} // namespace shoal::reference
