// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Transfer.h"

namespace shoal::rt {

BlockType::BlockType(int64_t bytes) {
  constexpr int64_t chunk = int64_t(1) << 30;
  MPI_Datatype chunks, rest;
  MPI_Type_contiguous(static_cast<int>(bytes % chunk), MPI_BYTE, &rest);
  if (bytes < chunk) {
    type = rest;
  } else {
    MPI_Datatype one;
    MPI_Type_contiguous(static_cast<int>(chunk), MPI_BYTE, &one);
    MPI_Type_contiguous(static_cast<int>(bytes / chunk), one, &chunks);
    int lengths[] = {1, 1};
    MPI_Aint offsets[] = {0, bytes / chunk * chunk};
    MPI_Datatype parts[] = {chunks, rest};
    MPI_Type_create_struct(2, lengths, offsets, parts, &type);
    MPI_Type_free(&one);
    MPI_Type_free(&chunks);
    MPI_Type_free(&rest);
  }
  check(MPI_Type_commit(&type), "MPI_Type_commit");
}

BlockType::~BlockType() { MPI_Type_free(&type); }

} // namespace shoal::rt
