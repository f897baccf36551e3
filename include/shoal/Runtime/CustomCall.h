/* Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How a program calls a function of its user: what shoal.custom_call means.
 * Plain C.
 *
 * The function has the name of the op's target and is linked into the
 * executable, from an object, archive or shared library:
 *
 *   int scale_rows(const shoal_custom_call *call);
 *   cc -c -I include scale_rows.c
 *   shoalc program.mlir -o program --link scale_rows.o
 *
 * The interpreter finds it in a shared library:
 *
 *   cc -shared -fPIC -I include scale_rows.c -o libscale_rows.so
 *   shoal-run program.mlir --custom-calls libscale_rows.so
 *
 * Each device calls it on its own shards, whose sizes `shape` tells. The same
 * operands must give the same results, and nothing else may come of the call:
 * it may be made more or less often than the program says, and devices do not
 * wait for each other. It must not keep the pointers. A function for
 * C++ is declared extern "C".
 */

#ifndef SHOAL_RUNTIME_CUSTOMCALL_H
#define SHOAL_RUNTIME_CUSTOMCALL_H

#include "shoal/Runtime/ABI.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming,modernize-use-using): C. */

/* A dense row-major array, aligned for its elements. */
typedef struct shoal_tensor {
  int64_t type; /* a shoal_rt_type */
  int64_t rank;
  const int64_t *shape;
  void *data;
} shoal_tensor;

typedef struct shoal_custom_call {
  const char *config; /* the op's `config`, or "" */
  int64_t num_operands;
  const shoal_tensor *operands; /* not to be written to */
  int64_t num_results;
  const shoal_tensor *results; /* to be written whole */
} shoal_custom_call;

/* Returns 0. Anything else ends the program, on all devices, with an error that
 * names the target and the number. */
typedef int (*shoal_custom_function)(const shoal_custom_call *call);

/* --- Called by compiled programs. -----------------------------------------
 */

/* Calls `function` on the operands and results, the arguments behind it; desc
 * is in docs/reference/RuntimeCalls.md. */
void shoal_rt_custom_call(const int64_t *desc, shoal_custom_function function,
                          ...);

/* NOLINTEND(readability-identifier-naming,modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif /* SHOAL_RUNTIME_CUSTOMCALL_H */
