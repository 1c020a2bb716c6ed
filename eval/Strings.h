#pragma once

#include "eval/Kernel.h"

#include <cstring>

/// Tensors of strings: their number, the offsets where each begins and the last ends, then the characters. Offsets are
/// of 32 bits, and count from the number.
namespace origo::eval {

/// The strings of an operand. They point into it.
inline llvm::Expected<std::vector<llvm::StringRef>> stringsOf(const KernelContext &ctx, unsigned operand) {
  const Tensor &tensor = ctx.input(operand);
  llvm::ArrayRef<uint8_t> bytes = tensor.bytes();
  auto number = [&](uint64_t i) {
    uint32_t value;
    std::memcpy(&value, bytes.data() + i * 4, 4);
    return uint64_t(value);
  };
  uint64_t count = bytes.size() < 4 ? 0 : number(0);
  if (count != static_cast<uint64_t>(tensor.count()))
    return ctx.fail(operand, "does not hold as many strings as its shape says", std::to_string(tensor.count()),
                    std::to_string(count));
  if (count && bytes.size() / 4 < count + 2)
    return ctx.fail(operand, "its strings reach beyond its end");
  std::vector<llvm::StringRef> strings;
  for (uint64_t i = 1; i <= count; ++i) {
    uint64_t begin = number(i), end = number(i + 1);
    if (begin > end || end > bytes.size())
      return ctx.fail(operand, "its strings reach beyond its end");
    strings.emplace_back(reinterpret_cast<const char *>(bytes.data()) + begin, end - begin);
  }
  return strings;
}

/// Result `i` of these strings.
inline llvm::Error setStrings(KernelContext &ctx, unsigned i, llvm::ArrayRef<int32_t> shape,
                              llvm::ArrayRef<llvm::StringRef> strings) {
  uint64_t head = (strings.size() + 2) * 4, size = head;
  for (llvm::StringRef string : strings)
    size += string.size();
  if (size > std::numeric_limits<int32_t>::max())
    return ctx.fail("the result would have more characters than offsets can count");
  auto output = ctx.outputOfSize(i, shape, size);
  if (!output)
    return output.takeError();
  auto bytes = (*output)->as<uint8_t>();
  if (bytes.empty())
    return llvm::Error::success(); // only shapes are wanted
  auto put = [&](uint64_t at, uint64_t value) {
    uint32_t word = static_cast<uint32_t>(value);
    std::memcpy(bytes.data() + at * 4, &word, 4);
  };
  put(0, strings.size());
  uint64_t at = head;
  for (size_t k = 0; k < strings.size(); ++k) {
    put(k + 1, at);
    if (!strings[k].empty())
      std::memcpy(bytes.data() + at, strings[k].data(), strings[k].size());
    at += strings[k].size();
  }
  put(strings.size() + 1, at);
  return llvm::Error::success();
}

} // namespace origo::eval
