#include "eval/RandomInput.h"

#include "eval/Numbers.h"
#include "eval/Strings.h"
#include "schema/TensorTypes.h"

#include <cstring>

namespace origo::eval {

namespace {

class Random {
public:
  Random(uint32_t seed, uint32_t stream) : state(seed * 0x9E3779B1u + stream * 0x85EBCA6Bu) {}
  uint32_t next() {
    state += 0x6D2B79F5u;
    uint32_t t = (state ^ state >> 15) * (state | 1);
    t ^= t + (t ^ t >> 7) * (t | 61);
    return t ^ t >> 14;
  }

private:
  uint32_t state;
};

template <class Make> void fill(llvm::MutableArrayRef<uint8_t> bytes, uint32_t seed, uint32_t stream, Make make) {
  Random random(seed, stream);
  using T = decltype(make(0u));
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T element = make(random.next());
    std::memcpy(bytes.data() + at, &element, sizeof(T));
  }
}

float signedUnit(uint32_t u) { return static_cast<float>(u >> 8) / 8388608.f - 1.f; }

/// Words of up to three letters.
std::vector<uint8_t> randomStrings(uint64_t count, uint32_t seed, uint32_t stream) {
  Random random(seed, stream);
  std::vector<std::string> words(count);
  for (std::string &word : words)
    for (uint32_t left = random.next() % 4; left > 0; --left)
      word += static_cast<char>('a' + random.next() % 26);
  return packStrings(std::vector<llvm::StringRef>(words.begin(), words.end()));
}

} // namespace

bool fillRandom(TensorType type, llvm::MutableArrayRef<uint8_t> bytes, uint32_t seed, uint32_t stream) {
  auto with = [&](auto make) {
    fill(bytes, seed, stream, make);
    return true;
  };
  switch (type) {
  case TensorType::FLOAT32:
  case TensorType::COMPLEX64:
    return with(signedUnit);
  case TensorType::FLOAT16:
    return with([](uint32_t u) { return floatToHalf(signedUnit(u)); });
  case TensorType::BFLOAT16:
    return with([](uint32_t u) { return floatToBFloat(signedUnit(u)); });
  case TensorType::FLOAT64:
  case TensorType::COMPLEX128:
    return with([](uint32_t u) { return u / 2147483648.0 - 1.0; });
  case TensorType::INT8:
    return with([](uint32_t u) { return static_cast<uint8_t>((u >> 24) - 128); });
  case TensorType::UINT8:
  case TensorType::INT4:
  case TensorType::UINT4:
    return with([](uint32_t u) { return static_cast<uint8_t>(u >> 24); });
  case TensorType::INT16:
    return with([](uint32_t u) { return static_cast<uint16_t>((u >> 16) - 32768); });
  case TensorType::UINT16:
    return with([](uint32_t u) { return static_cast<uint16_t>(u >> 16); });
  case TensorType::BOOL:
    return with([](uint32_t u) { return static_cast<uint8_t>(u >> 31); });
  // Most are indices.
  case TensorType::INT32:
  case TensorType::UINT32:
    return with([](uint32_t u) { return u % 2; });
  case TensorType::INT64:
  case TensorType::UINT64:
    return with([](uint32_t u) { return static_cast<uint64_t>(u % 2); });
  default: // Others are moved and not computed with.
    return bitsPerElement(type) && with([](uint32_t u) { return static_cast<uint8_t>(u >> 24); });
  }
}

llvm::Expected<OwnedTensor> randomInput(const Port &port, unsigned position, uint32_t seed, int32_t unknown) {
  OwnedTensor tensor{port.type, port.shape, {}};
  uint64_t count = 1;
  for (int32_t &dim : tensor.shape) {
    dim = dim < 0 ? unknown : dim;
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count))
      count = UINT64_MAX;
  }
  if (port.type == TensorType::STRING && count <= 1 << 20) {
    tensor.bytes = randomStrings(count, seed, position);
    return tensor;
  }
  auto bytes = payloadBytes(port.type, count);
  if (!bytes)
    return makeError("input " + llvm::Twine(position) + ": no random numbers for its type");
  if (*bytes > CompileOptions().memoryLimit)
    return makeError("input " + llvm::Twine(position) + ": it would take more memory than a run may");
  tensor.bytes.resize(*bytes);
  if (!fillRandom(port.type, tensor.bytes, seed, position))
    return makeError("input " + llvm::Twine(position) + ": no random numbers for " + tensorTypeName(port.type));
  // Nothing behind the last element.
  if (unsigned bits = bitsPerElement(port.type).value_or(8), used = static_cast<unsigned>(count * bits % 8);
      bits < 8 && used)
    tensor.bytes.back() &= static_cast<uint8_t>((1 << used) - 1);
  return tensor;
}

} // namespace origo::eval
