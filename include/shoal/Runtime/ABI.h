/* Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C ABI between a compiled program and Shoal's runtime. Plain C.
 *
 * A program is one object that exports shoal_program_metadata and
 * shoal_program_entry; the runtime library holds main(), which reads the
 * inputs, allocates the arena, runs the entry and writes the outputs.
 *
 * A call is shoal_rt_NAME(desc, in..., out..., scratch):
 *  - `desc` is a constant array that lives as long as the program: the runtime
 *    keeps plans and communicators by its address.
 *  - Buffers are dense, row-major and 64-byte aligned; outputs overlap neither
 *    inputs nor each other; an `inout` is both. The output of an all_reduce may
 *    be its input. Tensors of no elements are legal everywhere.
 *  - `scratch` is memory that the call has for its own length, in the arena as
 *    all buffers are; null where it needs none (scratchBytes in shoal/Calls).
 *    Calls that never need any do not take it.
 *  - A failure (an MPI error) ends all ranks with one line on stderr.
 *  - Every device makes the same calls in the same order.
 *
 * What `desc` holds is listed call by call in docs/reference/RuntimeCalls.md;
 * the names below are those of its fields. Compiler and runtime share the
 * structs of shoal/Calls that the page is made from.
 *
 * A device's index over a list of axes is the mixed radix number of its
 * coordinates, major to minor; p(axes) is the product of their sizes, 1 for an
 * empty list.
 *
 * The group of a collective over axes is the set of devices that differ in
 * their coordinates over these axes alone, ordered by their index.
 *
 * Uneven shards: shard i of p over a dimension of n has b = ceil(n / p) rows,
 * of which those from i * b to min(n, (i + 1) * b) exist and the others hold
 * anything. No collective lets such rows reach the rows that exist.
 */

#ifndef SHOAL_RUNTIME_ABI_H
#define SHOAL_RUNTIME_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): names of C. */

enum shoal_rt_type {
  SHOAL_RT_F32 = 0,
  SHOAL_RT_F64 = 1,
  SHOAL_RT_BF16 = 2,
  SHOAL_RT_F16 = 3,
  SHOAL_RT_I64 = 4,
  SHOAL_RT_I32 = 5,
  SHOAL_RT_I16 = 6,
  SHOAL_RT_I8 = 7,
  SHOAL_RT_I1 = 8, /* one byte, 0 or 1 */
  SHOAL_RT_F8E4M3FN = 9,
  SHOAL_RT_F8E5M2 = 10
};

/* --- What a program exports. ---------------------------------------------- */

/* JSON, NUL-terminated:
 * {"name": "moe_layer", "devices": 8, "target": "cpu", "arena_bytes": 123456,
 *  "shared_bytes": 4096,
 *  "meshes": [{"name": "mesh", "axes": [{"name": "expert", "size": 8}],
 *              "device_ids": null}],
 *  "inputs": [{"name": "x", "dtype": "f32", "unsigned": false,
 *              "shape": [8,512,256],
 *              "local_shape": [1,512,256], "mesh": 0,
 *              "dims": [[{"axis": 0, "pre": 1, "size": 8}], [], []],
 *              "sharding": "<@mesh, [{\"expert\"}, {}, {}]>"}],
 *  "outputs": [the same form],
 *  "collectives": [{"id": 0, "kind": "all_to_all", "axes": "{\"expert\"}",
 *                   "bytes": 1234, "loc": "file:line:col", "reason": "..."}],
 *  "host_calls": [{"number": 0, "name": "normalise", "loc": "file:line:col"}],
 *  "checks": 0,
 *  "products": [{"ragged": false, "desc": [...], "loc": "file:line:col"}]}
 * An input that a step writes over has "donated": true, an output that lies in
 * an input's memory "donor": the number of that input. An output with an
 * "offset" lies there in the shared memory of all such, of "shared_bytes".
 * Where pairs along the last dimension are numbers that are complex to the
 * caller there is "complex": true; files of such a tensor are NumPy's of
 * complex numbers. Where bytes are codes of elements of another type there is
 * "codes": its name. "products" are the calls of einsum and ragged_einsum with
 * their descriptors, for --describe. A host call without a number prints.
 * "checks" is how many calls of shoal_rt_check the program has.
 * device_ids null: position i of the mesh (row-major over its axes) is rank i;
 * otherwise device_ids[i] is the rank at position i. */
extern const char shoal_program_metadata[];

/* Runs one step. inputs and outputs are local shards in the metadata's order;
 * the arena has arena_bytes and no meaning between steps. An output with a
 * donor is made in that input's memory, one with an offset in `shared`, which
 * has shared_bytes, as the arena, on a boundary of 64 bytes; their own pointers
 * are not used. Until an output is made, its memory holds other values. */
void shoal_program_entry(void *const *inputs, void *const *outputs, void *arena,
                         void *shared);

/* Of programs for CUDA alone, see docs/internals/CUDA.md: a fatbin, or a shared
 * object for the emulated device, and its size. The metadata has beside "arch":
 * "sm_90" or "emulated", "kernels": [names], "constants_offset": n,
 * "constants_bytes": n and, for the emulated device, "emulation": path. */
extern const char shoal_program_image[];
extern const int64_t shoal_program_image_bytes;

/* "constants_bytes" bytes, which lie at "constants_offset" of the arena while
 * the program runs. It does not write there. */
extern const char shoal_program_constants[];

/* --- Calls of programs for CUDA alone. --------------------------------------
 * There all buffers are memory of the device, and calls return as soon as their
 * work is enqueued: collectives on a stream of their own, behind what has been
 * enqueued before them; all else, in order, on the compute stream. */

/* Launches the kernel; its parameters are the pointers. It touches no more than
 * what `buffers` says of each. A grid of no blocks does nothing. */
void shoal_rt_launch(const int64_t *desc, ...);

void shoal_rt_copy(const int64_t *desc, const void *in, void *out);

/* The element, sign-extended; 0 or 1 for i1. Waits for the compute stream. */
int64_t shoal_rt_read_scalar(const int64_t *desc, const void *in);

/* The compute stream waits for the last collective with this id; nothing if
 * there was none. */
void shoal_rt_wait(const int64_t *desc);

/* --- Threads, of programs for CPUs alone. ----------------------------------
 */

/* Calls run(begin, end, arguments) for ranges that together are the tiles 0 ...
 * tiles - 1, at the same time on threads if that is worth it: a tile costs what
 * moving so many bytes does. Returns when all are done. */
void shoal_rt_parallel_for(int64_t tiles, int64_t bytes,
                           void (*run)(int64_t begin, int64_t end,
                                       const void *arguments),
                           const void *arguments);

/* --- Communication. --------------------------------------------------------
 */

/* This device's index over the axes. */
void shoal_rt_axis_index(const int64_t *desc, int32_t *out);

/* Along each dim, the blocks of the devices over that dim's axes one after
 * another; out dim <= p(axes) * in dim, which cuts the padding of the tail. */
void shoal_rt_all_gather(const int64_t *desc, const void *in, void *out,
                         void *scratch);

/* The inverse, local: along each dim the block of out dim rows at this device's
 * index over that dim's axes; rows past the end of the input are zero. */
void shoal_rt_all_slice(const int64_t *desc, const void *in, void *out);

void shoal_rt_all_reduce(const int64_t *desc, const void *in, void *out,
                         void *scratch);

/* Reduces over the group of all the axes (dim 0's are the most major) and keeps
 * this device's block, out dim = ceil(in dim / p(axes)). On the CPU, terms are
 * added in the order of the group, small floats in f32 and rounded once. */
void shoal_rt_reduce_scatter(const int64_t *desc, const void *in, void *out,
                             void *scratch);

/* Each move takes its axes from one dimension, whose pieces are put together,
 * to another one, which is cut. The group is that of all moves' axes. Along
 * each `to` the input is cut into blocks of ceil(in dim / p) rows, p the
 * product over the moves to it, and block t goes to the devices with index t
 * over these moves (listed order is major to minor); what lies past the end is
 * zero. Along each `from` the pieces that came lie in the order of their
 * senders' index over the moves from it, cut to out dim. */
void shoal_rt_all_to_all(const int64_t *desc, const void *in, void *out,
                         void *scratch);

/* Entry t * k + j of the lists, k of them for each of the p devices of the
 * group: the send_sizes rows from in_offsets on of in get to the rows from
 * out_offsets on of the out of the device with index t over the axes; from the
 * one with index s come recv_sizes[s * k + j] rows. Other rows of out stay.
 * Where a slice lies outside of its tensor, where the sender's size is not the
 * receiver's, or where two slices meet, the process ends with an error. */
void shoal_rt_ragged_all_to_all(const int64_t *desc, const void *in,
                                const void *in_offsets, const void *send_sizes,
                                const void *out_offsets, const void *recv_sizes,
                                void *out, void *scratch);

/* The device whose index over the source axes is i sends to the device whose
 * index over the target axes is (i + shift) mod p, its other coordinates
 * unchanged. Both lists are permutations of the same sub-axes, p is the product
 * of their sizes. */
void shoal_rt_collective_permute(const int64_t *desc, const void *in,
                                 void *out);

/* A tensor of `size` rows in each dim. The device with index i over the source
 * axes has block i of ceil(size / p) rows, the one with index j over the target
 * axes gets `rows` rows from floor((step * j + offset) / divisor) on; those
 * before 0 and from `size` on are not written. Devices that differ on axes that
 * are not named hold, and get, the same. A device receives what it lacks; what
 * several devices have is sent by all of them in equal parts. `packed` and
 * `received` bound what any device stages of that. */
void shoal_rt_exchange(const int64_t *desc, const void *in, void *out,
                       void *scratch);

/* --- Local computation. ----------------------------------------------------
 */

/* Each element of the result is a sum of products of the operands' elements, as
 * the descriptor plans it for a CPU or for a device. Floats of 16 and 8 bits
 * are summed in f32 and rounded once; f32 in f32 unless the result is f64;
 * integers wrap. On i1 the product is and, the sum or. The types are all floats
 * or all integers, and the operands have one type or both one of f8. A sum of
 * no terms is 0.
 *
 * On CUDA alone: each element is multiplied by the scales, scalars of f32, if
 * the operands are f8; the bias, a tensor of the result's type, is added; then
 * the activation is applied; then it is rounded. */
void shoal_rt_einsum(const int64_t *desc, ...);

/* For each index of the bounds, the einsum of the parts of in0 and in1 at that
 * index, of the rows from begins[index] to ends[index], cut to those that
 * exist, added to the part of the result; 0 elsewhere. The types are equal, or
 * bf16 or f16 and f32; sums over several groups are rounded after each. */
void shoal_rt_ragged_einsum(const int64_t *desc, const void *in0,
                            const void *in1, const void *begins,
                            const void *ends, void *out, void *scratch);

/* out[.., i, ..] combines in[.., 0..i, ..] (without i if exclusive; from the
 * end if reverse). bf16 and f16 accumulate in f32. */
void shoal_rt_cumulative(const int64_t *desc, const void *in, void *out);

/* The k greatest of the last dim, descending; equal ones in the order of their
 * indices; NaN is greater than all. */
void shoal_rt_top_k(const int64_t *desc, const void *in, void *values,
                    int32_t *indices, void *scratch);

/* Sorts all lines along the axis by the first operands, the keys, compared one
 * after the other. Elements with equal keys keep their order. NaN is greater
 * than all and equals itself, -0 equals 0, integers are signed, on i1 0 comes
 * before 1. */
void shoal_rt_sort(const int64_t *desc, ...);

/* Transforms all lines along the axis; two tensors are the halves of complex
 * lines, one is of real numbers. An inverse transform is divided by the length.
 * On CPUs alone. */
void shoal_rt_fft(const int64_t *desc, ...);

/* Starts of windows are clamped so that windows fit,
 * 0 <= start <= size - window size. */
void shoal_rt_gather(const int64_t *desc, const void *in, const void *indices,
                     void *out);

/* Combines the elements of `updates`, the windows' tensor, into inout in the
 * row-major order of updates; what lies outside is dropped. */
void shoal_rt_scatter(const int64_t *desc, const void *indices,
                      const void *updates, void *inout, void *scratch);

/* --- Host calls. ---------------------------------------------------------- */

/* Prints the operands, or calls the host's function on them, by the way of
 * shoal_session_set_host_function or --host-calls; neither where `when`, an i1,
 * is false. Then, and where the function has failed before in this step, the
 * results are zeros, -0.0 of floats. The operands come first, then `when` if it
 * is there, then the results. */
void shoal_rt_host_call(const int64_t *desc, ...);

/* --- Checks, of programs for CPUs alone. ------------------------------------
 * What they find ends the step, on all devices, when it is over. */

/* Looks at the elements that exist of this device's block of a value. */
void shoal_rt_check(const int64_t *desc, const void *in);

/* A loop is reached, goes round or is left: for messages. */
void shoal_rt_iteration(const int64_t *desc);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif /* SHOAL_RUNTIME_ABI_H */
