/* Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program inside a process of an MPI job that is running already: what a
 * shared library of `shoalc --emit=shared` exports, beside
 * shoal_program_metadata. Plain C.
 *
 * A library that is loaded holds one session at a time. Calls that are marked
 * collective are made by all ranks of the communicator, in the same order.
 * Those that can fail return the same on every rank: 0, or 1 and one line of
 * text in `error`, an array of `size` bytes. A failure of the host's functions
 * is such. Another one in the middle of a step (an MPI error, a custom_call)
 * ends the job by MPI_Abort, as in an executable: other ranks may wait for
 * messages by then.
 */

#ifndef SHOAL_RUNTIME_SESSION_H
#define SHOAL_RUNTIME_SESSION_H

#include "shoal/Runtime/CustomCall.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using): C. */

#define SHOAL_EXPORT __attribute__((visibility("default")))

typedef struct shoal_session shoal_session;

/* What MPI_Get_library_version says: a communicator comes from the same library
 * as the program's MPI, or means nothing to it. */
SHOAL_EXPORT const char *shoal_session_mpi(void);

/* Collective. `communicator` is Fortran's handle, MPI_Comm_c2f(comm); it is
 * duplicated. Takes the arena. Fails where MPI does not run, the communicator
 * has another number of ranks than the program has devices, a rank has another
 * program, or memory is short. */
SHOAL_EXPORT int shoal_session_open(int communicator, shoal_session **session,
                                    char *error, size_t size);

/* The rows of input or output `index` that this rank holds, by dimension. They
 * are the first of its shard; the tail of an uneven dimension may not exist. */
SHOAL_EXPORT void shoal_session_block(const shoal_session *session,
                                      int is_output, int64_t index,
                                      int64_t *offset, int64_t *extent);

/* Collective: fails if `mine`, which is null for nothing, is text on any rank,
 * with that of the lowest. */
SHOAL_EXPORT int shoal_session_agree(shoal_session *session, const char *mine,
                                     char *error, size_t size);

/* Collective: one step. The shards are dense, of the local shapes, in host
 * memory, aligned for their elements, and in the metadata's order; outputs
 * overlap neither inputs nor each other. Inputs are not written to. Outputs
 * that have an offset in the metadata, in a program for CPUs, are made where
 * they are to be if all of them lie so behind one address, which is a multiple
 * of 64, with shared_bytes for them alone; else they are made elsewhere and
 * copied. */
SHOAL_EXPORT int shoal_session_run(shoal_session *session, void *const *inputs,
                                   void *const *outputs, char *error,
                                   size_t size);

/* Collective: one step in the caller's memory, which the program may use as its
 * own. Of donated inputs ("donated" in the metadata) anything is left; an
 * output with a donor is made in that input's memory, one with an offset at
 * `shared` + offset, and their pointers in `outputs` are not used. `shared` has
 * shared_bytes on a boundary of 64 bytes, and is not used where that is 0.
 * Donated inputs and shared overlap nothing else that is passed. In a program
 * for CPUs nothing of a shard's size is copied; one for CUDA copies to the
 * device and back. */
SHOAL_EXPORT int shoal_session_run_in_place(shoal_session *session,
                                            void *const *inputs,
                                            void *const *outputs, void *shared,
                                            char *error, size_t size);

/* A call of the host in the middle of a step, of shoal.host_call or
 * shoal.print. */
typedef struct shoal_host_call {
  int64_t number;   /* the function's; -1 where `text` is to be printed */
  const char *text; /* the function's name, or what is printed */
  int64_t num_operands;
  const shoal_tensor *operands; /* not to be written to */
  int64_t num_results;
  const shoal_tensor *results; /* to be written whole */
} shoal_host_call;

/* Returns 0, or 1 and one line of text in `error`, of at most `size` bytes:
 * then the step goes on to its end with results of zeros, makes no call any
 * more, and fails on every rank. */
typedef int (*shoal_host_function)(void *context, const shoal_host_call *call,
                                   char *error, size_t size);

/* Who answers this process' calls. A step of a program that calls functions
 * fails without; what is printed goes to stdout. */
SHOAL_EXPORT void shoal_session_set_host_function(shoal_session *session,
                                                  shoal_host_function function,
                                                  void *context);

/* Between a call with 1 and one with 0 this process waits for the others in a
 * call of MPI of its own: ranks that wait elsewhere, for each other, end the
 * job after the time-out. */
SHOAL_EXPORT void shoal_session_wait(shoal_session *session, int begins);

/* This process will make no call any more, as it is about to end: ranks that
 * wait for it end the job and say so, instead of waiting for ever. */
SHOAL_EXPORT void shoal_session_leave(shoal_session *session);

/* Ends all ranks of the job, as MPI_Abort does, and mpirun, too, where that
 * would hang. Does not return. */
SHOAL_EXPORT void shoal_session_abort(shoal_session *session);

/* Collective. The library of a program for CPUs may be unloaded from then on.
 */
SHOAL_EXPORT void shoal_session_close(shoal_session *session);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif /* SHOAL_RUNTIME_SESSION_H */
