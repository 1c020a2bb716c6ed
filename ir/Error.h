#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"

#include <string>

namespace origo {

/// Where in a model something is wrong. Negative numbers and an empty name mean "not known" and are not printed.
struct Place {
  int subgraph = -1;
  int op = -1;             ///< operator index in its subgraph
  int tensor = -1;         ///< tensor index in its subgraph
  std::string name = {};   ///< the tensor's or operator's own name; untrusted, escaped when printed
  std::string opName = {}; ///< for example CONV_2D
};

/// The one error of the project: bad input or a failing environment. `file` is filled in by whoever knows it.
class ModelError : public llvm::ErrorInfo<ModelError> {
public:
  static char ID;
  ModelError(Place place, std::string message) : place(std::move(place)), message(std::move(message)) {}

  /// One line: `FILE: subgraph 0, operator 3 (CONV_2D), tensor 7 "w": message`.
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }

  std::string file;
  Place place;
  std::string message;
};

llvm::Error makeError(const llvm::Twine &message);
llvm::Error makeError(Place place, const llvm::Twine &message);

/// Names the file in the ModelErrors of `error` that do not name one yet.
llvm::Error inFile(llvm::StringRef file, llvm::Error error);

/// The first error of results of which at least one has failed. The others' are dropped: an error is one line.
template <typename... T> llvm::Error firstError(llvm::Expected<T> &...results) {
  llvm::Error first = llvm::Error::success();
  auto take = [&](llvm::Error error) {
    if (first)
      llvm::consumeError(std::move(error));
    else
      first = std::move(error);
  };
  (take(results.takeError()), ...);
  return first;
}

/// Text from a model, made safe for a terminal and for one line: control characters, quotes and invalid UTF-8 are
/// escaped, and what is longer than `limit` bytes is cut with an ellipsis.
std::string printable(llvm::StringRef text, size_t limit = 120);

} // namespace origo
