// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host calls on their way to another process and back. It sees no MPI.
//
// A request is its number of words, the words, the text and the operands'
// bytes; the words are the function, the text's length, the numbers of operands
// and of results, and of each of these its type, its rank and its shape. An
// answer is a status, a length, and the results' bytes or an error.

#ifndef SHOAL_LIB_RUNTIME_RUN_HOSTCALLMESSAGES_H
#define SHOAL_LIB_RUNTIME_RUN_HOSTCALLMESSAGES_H

#include "shoal/Runtime/Session.h"
#include "shoal/Support/Result.h"

namespace shoal::rt {

/// All of it, whatever interrupts; false where the other end is gone.
bool sendAll(int socket, const void *data, size_t bytes);
bool receiveAll(int socket, void *data, size_t bytes);

/// What sendRequest sends.
size_t requestBytes(const shoal_host_call &request);
bool sendRequest(int socket, const shoal_host_call &request);

/// Writes the results; fails with the function's error, or where the other end
/// is gone.
support::Status receiveAnswer(int socket, const shoal_host_call &request);

} // namespace shoal::rt

#endif // SHOAL_LIB_RUNTIME_RUN_HOSTCALLMESSAGES_H
