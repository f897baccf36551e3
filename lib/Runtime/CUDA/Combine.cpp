// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Combine.h"
#include "RowNest.h"

namespace shoal::rt {

Kind kindOn(ElementType type, Kind kind) {
  return type == ElementType::I1 ? asLogic(kind) : kind;
}

void combine(ElementType type, Kind kind, int64_t count, int64_t parts,
             const void *in, void *out, cudaStream_t stream) {
  bool bitwise = kind == Kind::And || kind == Kind::Or;
  if (bitwise && support::isFloat(type))
    fatal("a reduction that its element type does not have");
  auto bytes = count * static_cast<int64_t>(support::elementSize(type));
  bool vectors = count % vectorElements == 0 && isVectorAligned(in, type) &&
                 isVectorAligned(out, type);
  CombineParameters p{Rows(1, vectors ? count / vectorElements : count),
                      vectors,
                      count,
                      parts,
                      static_cast<int32_t>(type),
                      static_cast<int32_t>(kindOn(type, kind)),
                      in,
                      out};
  const char *name = SHOAL_WIDE_NAMES("shoal_combine").of(type);
  launch(stream, name, blocksFor(p.rows.threads(), blockThreads), p,
         {{in, bytes * parts, Access::Read}, {out, bytes, Access::Write}});
}

} // namespace shoal::rt
