// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MPI's own collectives, measured as a program of Shoal measures its steps: a barrier, then the
// call, of which that rank's time counts that takes longest. Its arrays are as Shoal's, too.
//
// plain_collectives NAME BYTES REPEAT prints the least seconds of REPEAT calls, where each rank
// has so many bytes of f32.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/// As the runtime's allocate of lib/Runtime/Memory/Memory.cpp.
static float *allocate(size_t bytes) {
  size_t line = 64, huge = (size_t)2 << 20;
  size_t alignment = bytes >= huge ? huge : line;
  size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  float *memory = aligned_alloc(alignment, rounded);
  if (!memory)
    MPI_Abort(MPI_COMM_WORLD, 1);
  if (alignment == huge)
    madvise(memory, bytes / huge * huge, MADV_HUGEPAGE);
  memset(memory, 0, bytes);
  return memory;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char *name = argc == 4 ? argv[1] : "";
  int count = argc == 4 ? atoi(argv[2]) / (int)sizeof(float) : 0;
  int repeat = argc == 4 ? atoi(argv[3]) : 0, part = count / ranks;
  int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  float *sent = allocate(count * sizeof(float));
  float *room = allocate((size_t)count * ranks * sizeof(float));
  for (int i = 0; i < count; ++i)
    sent[i] = 1;
  double least = 1e30;
  for (int i = -1; i < repeat; ++i) { // the first one is to warm up
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    if (!strcmp(name, "all_reduce"))
      MPI_Allreduce(sent, room, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(name, "reduce_scatter"))
      MPI_Reduce_scatter_block(sent, room, part, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (!strcmp(name, "all_gather"))
      MPI_Allgather(sent, count, MPI_FLOAT, room, count, MPI_FLOAT, MPI_COMM_WORLD);
    else if (!strcmp(name, "all_to_all"))
      MPI_Alltoall(sent, part, MPI_FLOAT, room, part, MPI_FLOAT, MPI_COMM_WORLD);
    else if (!strcmp(name, "collective_permute"))
      MPI_Sendrecv(sent, count, MPI_FLOAT, to, 0, room, count, MPI_FLOAT, from, 0,
                   MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Abort(MPI_COMM_WORLD, 1);
    double mine = MPI_Wtime() - begin, seconds;
    MPI_Allreduce(&mine, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (i >= 0 && seconds < least)
      least = seconds;
  }
  if (rank == 0)
    printf("%.9g\n", least);
  MPI_Finalize();
}
