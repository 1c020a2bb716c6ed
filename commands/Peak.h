#pragma once

#include "ir/Model.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>

namespace origo::commands {

/// What a machine can do at most, a second.
struct Peak {
  double macs = 0;        ///< multiply-accumulates of float32
  double memory = 0;      ///< bytes that are read from memory
  double cache = 0;       ///< bytes that are read where they have just been
  bool isMeasured = true; ///< else somebody said it

  /// "GMACS,GBS": thousands of millions of multiply-accumulates, and of bytes, a second.
  static llvm::Expected<Peak> of(llvm::StringRef text);
  /// By small loops on so many threads; a tenth of a second.
  static Peak measure(unsigned threads);

  /// What an operator is bound by, and how near to that it comes.
  struct Share {
    double macs = 0, bytes = 0; ///< that it does a second; 0: not known
    double part = 0;            ///< of what is possible
    const char *bound = "";     ///< "compute", "memory", or "overhead", where it comes near to neither
  };
  /// Of an operator that is called so often and takes so many milliseconds for that; nothing where its sizes are not
  /// known.
  std::optional<Share> shareOf(const Operator &op, double calls, double ms) const;
  std::string words() const;
};

} // namespace origo::commands
