#pragma once

#include "eval/Kernel.h"

#include "flatbuffers/flexbuffers.h"
#include "llvm/Support/Endian.h"

/// The options of custom operators: bytes that each of them reads in its own way.
namespace origo::eval {

/// The attributes of an operator that TensorFlow's converter wrote: a flexbuffer's map, in which what is missing is 0.
inline llvm::Expected<flexbuffers::Map> attributes(const KernelContext &ctx) {
  llvm::ArrayRef<uint8_t> bytes = ctx.op.customOptions().bytes();
  std::vector<uint8_t> seen;
  if (bytes.empty() || !flexbuffers::VerifyBuffer(bytes.data(), bytes.size(), &seen))
    return ctx.fail("its options are no flexbuffer");
  flexbuffers::Reference root = flexbuffers::GetRoot(bytes.data(), bytes.size());
  if (!root.IsMap())
    return ctx.fail("its options are no map");
  return root.AsMap();
}

/// MediaPipe's struct of 32 bit numbers, at least `count` of them; what may stand behind is not looked at.
inline llvm::Expected<llvm::SmallVector<int32_t, 6>> words(const KernelContext &ctx, size_t count) {
  llvm::ArrayRef<uint8_t> bytes = ctx.op.customOptions().bytes();
  if (bytes.size() < count * 4)
    return ctx.fail("its options are too short: " + llvm::Twine(bytes.size()) + " bytes of " + llvm::Twine(count * 4));
  llvm::SmallVector<int32_t, 6> numbers;
  for (size_t i = 0; i < count; ++i)
    numbers.push_back(llvm::support::endian::read32le(bytes.data() + i * 4));
  return numbers;
}

} // namespace origo::eval
