// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// MLIR's language server answers what it knows; what it does not, inlay hints,
// is answered in front of it.

#ifndef SHOAL_TOOLS_SHOAL_LSP_SERVER_RELAY_H
#define SHOAL_TOOLS_SHOAL_LSP_SERVER_RELAY_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/JSON.h"
#include <cstdio>
#include <mutex>
#include <string>

namespace shoal {

/// Between a client and a server, which speak by messages of JSON with a header
/// each.
class Relay {
public:
  /// The server reads `toServer`, and writes what `fromServer` reads.
  Relay(FILE *toServer, FILE *fromServer, std::string machineFile,
        bool isLitTest)
      : toServer(toServer), fromServer(fromServer),
        machineFile(std::move(machineFile)), isLitTest(isLitTest) {}

  /// Until the client says no more, and the server has said all.
  void run(FILE *client);

private:
  bool readClient(FILE *client, std::string &message) const;
  void takeFromClient(llvm::StringRef message);
  void takeFromServer(llvm::StringRef message);
  void note(llvm::StringRef method, const llvm::json::Object &params);
  void answerHints(const llvm::json::Object &request);
  void tellClient(const llvm::json::Value &message);

  FILE *toServer, *fromServer;
  std::string machineFile;
  /// As MLIR's server has it: messages between lines of `// -----`.
  bool isLitTest;
  std::mutex clientMutex;
  /// By URI, as the client sees them now.
  llvm::StringMap<std::string> documents;
};

} // namespace shoal

#endif // SHOAL_TOOLS_SHOAL_LSP_SERVER_RELAY_H
