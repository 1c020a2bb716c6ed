#pragma once

#include "eval/Kernel.h"

#include <cstring>

/// Tensors of strings. Their bytes are, in 32 bit numbers, how many strings there are, where each begins and where the
/// last one ends, and then the characters.
namespace origo::eval {

class Strings {
public:
  static llvm::Expected<Strings> of(KernelContext &ctx, unsigned operand) {
    const Tensor &tensor = ctx.input(operand);
    Strings made{tensor.bytes()};
    uint64_t size = made.bytes.size(), count = static_cast<uint64_t>(tensor.count());
    if (size < 4 || made.number(0) != count || size < 4 * (count + 2))
      return ctx.fail(operand, "does not hold as many strings as its shape says", std::to_string(count));
    for (uint64_t i = 0, last = 4 * (count + 2); i <= count; ++i) {
      uint64_t offset = made.number(i + 1);
      if (offset < last || offset > size)
        return ctx.fail(operand, "string " + llvm::Twine(i) + " is not within the bytes");
      last = offset;
    }
    return made;
  }
  llvm::ArrayRef<uint8_t> operator[](int64_t i) const {
    return bytes.slice(number(i + 1), number(i + 2) - number(i + 1));
  }
  /// Bytes of a tensor of `count` strings with this many characters.
  static uint64_t packedSize(uint64_t count, uint64_t characters) { return 4 * (count + 2) + characters; }

private:
  llvm::ArrayRef<uint8_t> bytes;
  explicit Strings(llvm::ArrayRef<uint8_t> bytes) : bytes(bytes) {}
  uint32_t number(uint64_t i) const {
    uint32_t value;
    std::memcpy(&value, bytes.data() + 4 * i, 4);
    return value;
  }
};

/// Fills a tensor of Strings::packedSize, string by string.
class StringWriter {
public:
  StringWriter(llvm::MutableArrayRef<uint8_t> bytes, uint32_t count) : bytes(bytes), end(4 * (count + 2)) {
    put(count);
    put(end);
  }
  void append(llvm::ArrayRef<uint8_t> string) {
    if (!string.empty())
      std::memcpy(bytes.data() + end, string.data(), string.size());
    end += static_cast<uint32_t>(string.size());
    put(end);
  }

private:
  llvm::MutableArrayRef<uint8_t> bytes;
  uint32_t end;
  size_t head = 0;
  void put(uint32_t value) {
    std::memcpy(bytes.data() + head, &value, 4);
    head += 4;
  }
};

} // namespace origo::eval
