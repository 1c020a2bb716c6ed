#pragma once

#include "eval/Kernel.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

/// Tensors of strings: their number, the offsets where each begins and the last ends, then the characters. Offsets are
/// of 32 bits, and count from the number.
namespace origo::eval {

/// The strings of a packed tensor. They point into it. Nothing, if it does not hold `count` strings.
inline std::optional<std::vector<llvm::StringRef>> unpackStrings(llvm::ArrayRef<uint8_t> bytes, int64_t count) {
  auto number = [&](uint64_t i) {
    uint32_t value;
    std::memcpy(&value, bytes.data() + i * 4, 4);
    return uint64_t(value);
  };
  uint64_t held = bytes.size() < 4 ? 0 : number(0);
  if (held != static_cast<uint64_t>(count) || (held && bytes.size() / 4 < held + 2))
    return std::nullopt;
  std::vector<llvm::StringRef> strings;
  for (uint64_t i = 1; i <= held; ++i) {
    uint64_t begin = number(i), end = number(i + 1);
    if (begin > end || end > bytes.size())
      return std::nullopt;
    strings.emplace_back(reinterpret_cast<const char *>(bytes.data()) + begin, end - begin);
  }
  return strings;
}

/// The strings of an operand.
inline llvm::Expected<std::vector<llvm::StringRef>> stringsOf(const KernelContext &ctx, unsigned operand) {
  const Tensor &tensor = ctx.input(operand);
  if (auto strings = unpackStrings(tensor.bytes(), tensor.count()))
    return std::move(*strings);
  return ctx.fail(operand, "does not hold as many strings as its shape says");
}

/// The packed form.
inline std::vector<uint8_t> packStrings(llvm::ArrayRef<llvm::StringRef> strings) {
  std::vector<uint8_t> bytes((strings.size() + 2) * 4);
  auto put = [&](size_t at, size_t value) {
    uint32_t word = static_cast<uint32_t>(value);
    std::memcpy(bytes.data() + at * 4, &word, 4);
  };
  put(0, strings.size());
  for (size_t k = 0; k < strings.size(); ++k) {
    put(k + 1, bytes.size());
    bytes.insert(bytes.end(), strings[k].bytes_begin(), strings[k].bytes_end());
  }
  put(strings.size() + 1, bytes.size());
  return bytes;
}

/// Result `i` of these strings.
inline llvm::Error setStrings(KernelContext &ctx, unsigned i, llvm::ArrayRef<llvm::StringRef> strings) {
  uint64_t size = (strings.size() + 2) * 4;
  for (llvm::StringRef string : strings)
    size += string.size();
  if (size > std::numeric_limits<int32_t>::max())
    return ctx.fail("the result would have more characters than offsets can count");
  auto output = ctx.outputOfSize(i, ctx.output(i).shape, size);
  if (!output)
    return output.takeError();
  llvm::copy(packStrings(strings), (*output)->storage.begin());
  return llvm::Error::success();
}

} // namespace origo::eval
