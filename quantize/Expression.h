#pragma once

#include "ir/Error.h"

#include <memory>

struct pcre2_real_code_8;

namespace origo::quantize {

/// A regular expression in the words of Python's `re`.
class Expression {
public:
  /// An error: Python takes no such expression, or PCRE2, which searches, has not what it asks for.
  static llvm::Expected<Expression> compile(llvm::StringRef python);

  /// What searches may still cost. Each adds to it by the length of the text, so that all of them together are linear.
  struct Budget {
    uint64_t steps = 1'000'000;
  };
  /// Python's re.search. An error: it would take too long.
  llvm::Expected<bool> isIn(llvm::StringRef text, Budget &budget) const;

private:
  struct Free {
    void operator()(pcre2_real_code_8 *code) const;
  };
  std::string python; ///< as it was given
  std::unique_ptr<pcre2_real_code_8, Free> code;
};

} // namespace origo::quantize
