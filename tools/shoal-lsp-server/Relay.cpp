// Part of the Shoal project, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Relay.h"
#include "InlayHints.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/LSP/Protocol.h"
#include "llvm/Support/raw_ostream.h"
#include <thread>

using namespace shoal;

static bool readLine(FILE *file, std::string &line) {
  line.clear();
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    if (c == '\n')
      return true;
    line.push_back(char(c));
  }
  return !line.empty();
}

/// No text of an editor is larger: what says so is something else.
static constexpr size_t kLargestMessage = size_t(1) << 30;

/// `Content-Length: 12`, an empty line, and as many bytes.
static bool readMessage(FILE *file, std::string &message) {
  size_t length = 0;
  for (std::string line; readLine(file, line);) {
    llvm::StringRef text = llvm::StringRef(line).rtrim();
    if (text.consume_front("Content-Length:"))
      text.trim().getAsInteger(10, length);
    else if (text.empty() && length > 0) {
      if (length > kLargestMessage)
        return false;
      message.resize(length);
      return std::fread(message.data(), 1, length, file) == length;
    }
  }
  return false;
}

static void writeMessage(FILE *file, llvm::StringRef message) {
  std::string text =
      llvm::formatv("Content-Length: {0}\r\n\r\n{1}", message.size(), message);
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

/// Up to a line `// -----`, without comments.
static bool readDelimited(FILE *file, std::string &message) {
  message.clear();
  for (std::string line; readLine(file, line);) {
    llvm::StringRef text = llvm::StringRef(line).trim();
    if (text.consume_front("// -----"))
      break;
    if (!text.starts_with("//"))
      message += line + "\n";
  }
  return !llvm::StringRef(message).trim().empty();
}

bool Relay::readClient(FILE *client, std::string &message) const {
  return isLitTest ? readDelimited(client, message)
                   : readMessage(client, message);
}

void Relay::tellClient(const llvm::json::Value &message) {
  std::string text = isLitTest ? llvm::formatv("{0:2}", message)
                               : llvm::formatv("{0}", message);
  std::lock_guard lock(clientMutex);
  writeMessage(stdout, text);
}

/// Keeps the text that the client has.
void Relay::note(llvm::StringRef method, const llvm::json::Object &params) {
  const llvm::json::Object *document = params.getObject("textDocument");
  if (!document)
    return;
  llvm::StringRef uri = document->getString("uri").value_or("");
  if (method == "textDocument/didOpen")
    documents[uri] = document->getString("text").value_or("").str();
  if (method == "textDocument/didClose")
    documents.erase(uri);
  const llvm::json::Array *changes = params.getArray("contentChanges");
  if (method != "textDocument/didChange" || !changes)
    return;
  for (const llvm::json::Value &each : *changes) {
    llvm::lsp::TextDocumentContentChangeEvent change;
    llvm::json::Path::Root root;
    if (fromJSON(each, change, root))
      (void)change.applyTo(documents[uri]);
  }
}

void Relay::answerHints(const llvm::json::Object &request) {
  const llvm::json::Object *params = request.getObject("params");
  const llvm::json::Object *document =
      params ? params->getObject("textDocument") : nullptr;
  llvm::StringRef uri = document ? document->getString("uri").value_or("") : "";
  const llvm::json::Value *id = request.get("id");
  tellClient(llvm::json::Object{
      {"jsonrpc", "2.0"},
      {"id", id ? *id : llvm::json::Value(nullptr)},
      {"result", makeInlayHints(documents.lookup(uri), machineFile)}});
}

void Relay::takeFromClient(llvm::StringRef message) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(message);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
  } else if (const llvm::json::Object *object = parsed->getAsObject()) {
    llvm::StringRef method = object->getString("method").value_or("");
    if (method == "textDocument/inlayHint")
      return answerHints(*object);
    if (const llvm::json::Object *params = object->getObject("params"))
      note(method, *params);
  }
  writeMessage(toServer, message);
}

/// What the server can do is what it says, and what is answered here.
void Relay::takeFromServer(llvm::StringRef message) {
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(message);
  if (!parsed) {
    llvm::consumeError(parsed.takeError());
    return;
  }
  if (llvm::json::Object *object = parsed->getAsObject())
    if (llvm::json::Object *result = object->getObject("result"))
      if (llvm::json::Object *can = result->getObject("capabilities"))
        (*can)["inlayHintProvider"] = true;
  tellClient(*parsed);
}

void Relay::run(FILE *client) {
  std::thread answers([&] {
    for (std::string message; readMessage(fromServer, message);)
      takeFromServer(message);
  });
  for (std::string message; readClient(client, message);)
    takeFromClient(message);
  std::fclose(toServer);
  answers.join();
}
