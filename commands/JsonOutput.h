#pragma once

#include "llvm/Support/raw_ostream.h"

namespace origo::commands {

/// Standard output for JSON. What a terminal would obey, or reorder, is escaped, as JSON can do with any character.
class JsonOutput : public llvm::raw_ostream {
public:
  explicit JsonOutput(llvm::raw_ostream &to = llvm::outs()) : to(to) {}
  ~JsonOutput() override { flush(); }

private:
  llvm::raw_ostream &to;
  std::string rest; ///< the beginning of a character
  uint64_t written = 0;
  void write_impl(const char *data, size_t size) override;
  uint64_t current_pos() const override { return written; }
};

} // namespace origo::commands
