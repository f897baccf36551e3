// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// all_reduce and reduce_scatter.

#include "Reductions.h"
#include "../Common/Calls.h"
#include "BlockCopy.h"
#include "Collective.h"
#include "Combine.h"
#include "Device.h"
#include "DeviceMemory.h"
#include "shoal/Support/CollectiveBytes.h"

namespace shoal::rt {

static std::optional<ncclDataType_t> typeFor(ElementType type) {
  switch (type) {
  case ElementType::F32:
    return ncclFloat32;
  case ElementType::F64:
    return ncclFloat64;
  case ElementType::BF16:
    return ncclBfloat16;
  case ElementType::F16:
    return ncclFloat16;
  case ElementType::I64:
    return ncclInt64;
  case ElementType::I32:
    return ncclInt32;
  case ElementType::I16:
  case ElementType::F8E4M3FN:
  case ElementType::F8E5M2:
    return std::nullopt;
  case ElementType::I8:
    return ncclInt8;
  case ElementType::I1:
    return ncclUint8;
  }
  fatal("unknown element type in a descriptor");
}

static std::optional<ncclRedOp_t> operatorFor(ElementType type, Kind kind) {
  bool isFloat = support::isFloat(type);
  bool isSmall = type == ElementType::BF16 || type == ElementType::F16;
  if (type == ElementType::I1)
    return asLogic(kind) == Kind::Or ? ncclMax : ncclMin;
  switch (kind) {
  case Kind::Sum:
    return ncclSum;
  case Kind::Prod:
    return isSmall ? std::nullopt : std::optional(ncclProd);
  case Kind::Max:
    return isFloat ? std::nullopt : std::optional(ncclMax);
  case Kind::Min:
    return isFloat ? std::nullopt : std::optional(ncclMin);
  case Kind::And:
  case Kind::Or:
    return std::nullopt;
  }
  fatal("unknown kind of reduction in a descriptor");
}

std::optional<Reduction> reductionFor(ElementType type, Kind kind) {
  std::optional<ncclDataType_t> nccl = typeFor(type);
  std::optional<ncclRedOp_t> op = operatorFor(type, kind);
  if (!nccl || !op)
    return std::nullopt;
  return Reduction{*nccl, *op};
}

} // namespace shoal::rt

using namespace shoal::rt;

namespace {

/// An array of `count` elements cut into a part for each of p devices; the last
/// ones may be short or empty.
struct Parts {
  int64_t count, part, width;

  Parts(int64_t count, int64_t p, int64_t width)
      : count(count), part(ceilDiv(count, p)), width(width) {}

  int64_t elements(int64_t i) const {
    return rowsBefore(count, i * part, part);
  }
  int64_t bytes(int64_t i) const { return elements(i) * width; }
  int64_t offset(int64_t i) const { return i * part * width; }
};

} // namespace

/// Each device gets its part from all and combines them in the order of ranks;
/// with these every device is sent the same bits.
static void reduceByKernel(Collective &collective, const Group &group,
                           int64_t index, ElementType type, Kind kind,
                           int64_t count, const char *in, char *out) {
  int64_t p = group.size();
  Parts parts(count, p, bytesOf(type, {}));
  int64_t mine = parts.bytes(index);
  auto *terms = static_cast<char *>(
      DeviceStaging::get().at(DeviceStaging::Terms, p * mine));
  collective.copy(in + parts.offset(index), terms + index * mine, mine);
  collective.swapWithOthers(index, [&](int64_t member) {
    collective.send(in + parts.offset(member), parts.bytes(member), member);
    collective.receive(terms + member * mine, mine, member);
  });
  char *result = out + parts.offset(index);
  if (mine != 0)
    combine(type, kind, parts.elements(index), p, terms, result,
            collective.stream);
  collective.swapWithOthers(index, [&](int64_t member) {
    collective.send(result, mine, member);
    collective.receive(out + parts.offset(member), parts.bytes(member), member);
  });
}

extern "C" void shoal_rt_all_reduce(const int64_t *desc, const void *in,
                                    void *out, void * /*scratch*/) {
  const auto &call = lookUp<AllReduceCall>(desc);
  int64_t p = shardCount(call.axes),
          bytes = bytesOf(call.type, {&call.count, 1});
  const Group *group = p == 1 || bytes == 0
                           ? nullptr
                           : &Communicators::get().group(call.mesh, call.axes);
  Collective collective(Activity::AllReduce, call.id,
                        shoal::support::allReduceSize(bytes, p), group);
  if (!group)
    return collective.copy(in, out, bytes);
  std::optional<Reduction> reduction = reductionFor(call.type, call.kind);
  if (!reduction)
    return reduceByKernel(
        collective, *group, Device::get().indexOver(call.mesh, call.axes),
        call.type, call.kind, call.count, static_cast<const char *>(in),
        static_cast<char *>(out));
  collective.run("ncclAllReduce", [&] {
    return api.ncclAllReduce(in, out, call.count, reduction->type,
                             reduction->op, group->communicator,
                             collective.stream);
  });
}

/// The members' blocks one after another, padded.
static const char *packBlocks(Collective &collective, const Blocks &blocks,
                              ElementType type, const void *in) {
  if (blocks.inOrder() && blocks.even())
    return static_cast<const char *>(in);
  int64_t p = blocks.numBlocks(), bytes = bytesOf(type, blocks.block);
  auto *packed = static_cast<char *>(
      DeviceStaging::get().at(DeviceStaging::Send, p * bytes));
  for (int64_t member = 0; member < p; ++member)
    copyToBlock(blocks, type, member, in, packed + member * bytes,
                collective.stream);
  return packed;
}

/// Each device gets its block from all and combines them in the order of ranks.
static void scatterByKernel(Collective &collective, const Group &group,
                            int64_t index, ElementType type, Kind kind,
                            const Blocks &blocks, const char *packed,
                            void *out) {
  int64_t p = group.size(), bytes = bytesOf(type, blocks.block);
  auto *terms = static_cast<char *>(
      DeviceStaging::get().at(DeviceStaging::Terms, p * bytes));
  collective.swapPieces(index, bytes, packed, terms);
  combine(type, kind, shoal::support::numElements(blocks.block), p, terms, out,
          collective.stream);
}

extern "C" void shoal_rt_reduce_scatter(const int64_t *desc, const void *in,
                                        void *out, void * /*scratch*/) {
  const auto &call = lookUp<ReduceScatterCall>(desc);
  ElementType type = call.type;
  Blocks blocks(call.blocks);
  int64_t p = blocks.numBlocks(), bytes = bytesOf(type, blocks.block);
  const Group *group =
      p == 1 || bytes == 0
          ? nullptr
          : &Communicators::get().group(call.mesh, blocks.axes);
  Collective collective(Activity::ReduceScatter, call.id,
                        shoal::support::reduceScatterSize(bytes, p), group);
  if (bytes == 0)
    return;
  if (!group)
    return copyToBlock(blocks, type, 0, in, out, collective.stream);
  const char *packed = packBlocks(collective, blocks, type, in);
  std::optional<Reduction> reduction = reductionFor(type, call.kind);
  if (!reduction)
    return scatterByKernel(collective, *group,
                           Device::get().indexOver(call.mesh, blocks.axes),
                           type, call.kind, blocks, packed, out);
  collective.run("ncclReduceScatter", [&] {
    return api.ncclReduceScatter(
        packed, out, shoal::support::numElements(blocks.block), reduction->type,
        reduction->op, group->communicator, collective.stream);
  });
}
