#pragma once

#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <string>

namespace origo::test {

/// The text of a file of tests/profiles/.
inline std::string sampleProfile(const std::string &name) {
  auto buffer = llvm::MemoryBuffer::getFile(std::string(ORIGO_SOURCE_DIR "/tests/profiles/") + name);
  EXPECT_TRUE(bool(buffer)) << name;
  return buffer ? (*buffer)->getBuffer().str() : std::string();
}

} // namespace origo::test
