#include "ir/text/Elements.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace origo::text {

using llvm::APFloat;
using llvm::ArrayRef;
using llvm::StringRef;

static NumberKind floatKind(const llvm::fltSemantics &semantics, unsigned perElement = 1) {
  return {NumberKind::Float, APFloat::semanticsSizeInBits(semantics), perElement, &semantics};
}

NumberKind numberKind(TensorType type) {
  switch (static_cast<int>(type)) { // some types have no enumerator
  case static_cast<int>(TensorType::FLOAT32):
    return floatKind(APFloat::IEEEsingle());
  case static_cast<int>(TensorType::FLOAT64):
    return floatKind(APFloat::IEEEdouble());
  case static_cast<int>(TensorType::FLOAT16):
    return floatKind(APFloat::IEEEhalf());
  case static_cast<int>(TensorType::BFLOAT16):
    return floatKind(APFloat::BFloat());
  case static_cast<int>(TensorType::COMPLEX64):
    return floatKind(APFloat::IEEEsingle(), 2);
  case static_cast<int>(TensorType::COMPLEX128):
    return floatKind(APFloat::IEEEdouble(), 2);
  case static_cast<int>(tensorTypeFloat8E4M3FN):
    return floatKind(APFloat::Float8E4M3FN());
  case static_cast<int>(tensorTypeFloat8E5M2):
    return floatKind(APFloat::Float8E5M2());
  case static_cast<int>(TensorType::BOOL):
    return {NumberKind::Bool, 8};
  default:
    break;
  }
  llvm::StringRef name = tensorTypeShortName(type); // "i8", "u16", …
  std::optional<unsigned> bits = bitsPerElement(type);
  if (bits && name.starts_with("i"))
    return {NumberKind::Signed, *bits};
  if (bits && name.starts_with("u"))
    return {NumberKind::Unsigned, *bits};
  return {};
}

NumberKind numberKind(wire::Type type) {
  switch (type) {
  case wire::Type::Bool:
    return {NumberKind::Bool, 8};
  case wire::Type::Float32:
    return floatKind(APFloat::IEEEsingle());
  case wire::Type::Float64:
    return floatKind(APFloat::IEEEdouble());
  case wire::Type::Int8:
  case wire::Type::Int16:
  case wire::Type::Int32:
  case wire::Type::Int64:
    return {NumberKind::Signed, wire::size(type) * 8};
  default:
    return {NumberKind::Unsigned, wire::size(type) * 8};
  }
}

static uint64_t lowBits(uint64_t bits, unsigned count) { return count < 64 ? bits & ((1ull << count) - 1) : bits; }
static int64_t signExtended(uint64_t bits, unsigned count) {
  return static_cast<int64_t>(bits << (64 - count)) >> (64 - count);
}

template <class T> static void printShortest(llvm::raw_ostream &os, T value) {
  char buffer[40];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  os << StringRef(buffer, end - buffer);
}

template <class To, class From> static To bitsAs(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

static uint64_t quietNaN(const NumberKind &kind, bool negative) {
  return APFloat::getQNaN(*kind.semantics, negative).bitcastToAPInt().getZExtValue();
}

static void printFloat(llvm::raw_ostream &os, const NumberKind &kind, uint64_t bits) {
  APFloat value(*kind.semantics, llvm::APInt(kind.bits, bits));
  if (value.isNaN()) {
    if (bits == quietNaN(kind, false))
      os << "nan";
    else if (bits == quietNaN(kind, true))
      os << "-nan";
    else
      os << "nan(0x" << llvm::utohexstr(bits, true) << ')';
  } else if (value.isInfinity()) {
    os << (value.isNegative() ? "-inf" : "inf");
  } else if (kind.bits == 64) {
    printShortest(os, bitsAs<double>(bits));
  } else if (kind.bits == 32) {
    printShortest(os, bitsAs<float>(static_cast<uint32_t>(bits)));
  } else {
    printShortest(os, static_cast<float>(value.convertToDouble()));
  }
}

void printNumber(llvm::raw_ostream &os, const NumberKind &kind, uint64_t bits) {
  if (kind.kind == NumberKind::Float)
    printFloat(os, kind, bits);
  else if (kind.kind == NumberKind::Signed)
    os << signExtended(bits, kind.bits);
  else if (kind.kind == NumberKind::Bool && bits < 2)
    os << (bits ? "true" : "false");
  else
    os << bits;
}

template <class T> static bool parseReal(Reader &reader, T &value) {
  StringRef text = reader.token.text;
  text.consume_front("+");
  auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error == std::errc::result_out_of_range)
    return reader.fail("the number is out of range");
  if (error != std::errc() || end != text.end())
    return reader.expected("a number");
  return true;
}

static bool parseFloat(Reader &reader, const NumberKind &kind, uint64_t &bits) {
  if (reader.token.kind != Token::Number && reader.token.kind != Token::Word)
    return reader.expected("a number");
  StringRef text = reader.token.text;
  bool negative = text.consume_front("-");
  if (text == "inf") {
    // Float8E4M3FN has no infinity, which LLVM would turn into NaN.
    if (kind.semantics == &APFloat::Float8E4M3FN())
      return reader.fail("the type has no infinity");
    bits = APFloat::getInf(*kind.semantics, negative).bitcastToAPInt().getZExtValue();
  } else if (text == "nan") {
    bits = quietNaN(kind, negative);
    reader.advance();
    if (negative || !reader.accept('('))
      return true;
    if (!reader.unsigned64(bits, "the bits of the NaN"))
      return false;
    if (lowBits(bits, kind.bits) != bits || !APFloat(*kind.semantics, llvm::APInt(kind.bits, bits)).isNaN())
      return reader.fail("these are not the bits of a NaN of the type");
    return reader.expect(')');
  } else if (reader.token.kind != Token::Number) {
    return reader.expected("a number");
  } else if (kind.bits == 32) {
    float value;
    if (!parseReal(reader, value))
      return false;
    bits = bitsAs<uint32_t>(value);
  } else {
    double value;
    if (!parseReal(reader, value))
      return false;
    if (kind.bits == 64) {
      bits = bitsAs<uint64_t>(value);
    } else {
      APFloat narrow(value);
      bool lost;
      if (narrow.convert(*kind.semantics, APFloat::rmNearestTiesToEven, &lost) & APFloat::opOverflow)
        return reader.fail("the number is out of range");
      bits = narrow.bitcastToAPInt().getZExtValue();
    }
  }
  reader.advance();
  return true;
}

bool parseNumber(Reader &reader, const NumberKind &kind, uint64_t &bits) {
  if (kind.kind == NumberKind::Float)
    return parseFloat(reader, kind, bits);
  if (kind.kind == NumberKind::Bool && (reader.atWord("true") || reader.atWord("false"))) {
    bits = reader.atWord("true");
    reader.advance();
    return true;
  }
  if (kind.kind != NumberKind::Signed && kind.bits == 64)
    return reader.unsigned64(bits, "an integer");
  int64_t value, limit = static_cast<int64_t>(lowBits(~0ull, kind.bits - (kind.kind == NumberKind::Signed)));
  if (!reader.integer(value, kind.kind == NumberKind::Signed ? -limit - 1 : 0, limit, "an integer"))
    return false;
  bits = lowBits(static_cast<uint64_t>(value), kind.bits);
  return true;
}

/// Number `index` of a payload.
static uint64_t numberAt(const NumberKind &kind, ArrayRef<uint8_t> bytes, uint64_t index) {
  if (kind.bits < 8) {
    unsigned perByte = 8 / kind.bits;
    return lowBits(bytes[index / perByte] >> (index % perByte * kind.bits), kind.bits);
  }
  uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * (kind.bits / 8), kind.bits / 8);
  return bits;
}

static void appendNumber(const NumberKind &kind, std::string &bytes, uint64_t index, uint64_t bits) {
  if (kind.bits >= 8) {
    bytes.append(reinterpret_cast<const char *>(&bits), kind.bits / 8);
    return;
  }
  unsigned place = index % (8 / kind.bits);
  if (place == 0)
    bytes.push_back(0);
  bytes.back() |= static_cast<char>(bits << (place * kind.bits));
}

/// Are the bits behind the last element of a packed payload zero?
static bool hasCleanEnd(const NumberKind &kind, ArrayRef<uint8_t> bytes, uint64_t numbers) {
  unsigned used = kind.bits < 8 ? numbers % (8 / kind.bits) * kind.bits : 0;
  return used == 0 || bytes.back() >> used == 0;
}

/// The strings of a STRING payload: int32 count, count + 1 offsets, characters. Nothing if it is laid out otherwise.
static std::optional<std::vector<StringRef>> stringsOf(ArrayRef<uint8_t> bytes) {
  auto at = [&](uint64_t index) {
    uint32_t value;
    std::memcpy(&value, bytes.data() + 4 * index, 4);
    return value;
  };
  if (bytes.size() < 8 || at(0) > bytes.size() / 4 - 2)
    return std::nullopt;
  uint64_t count = at(0), begin = 4 * (count + 2);
  std::vector<StringRef> strings;
  if (at(1) != begin || at(count + 1) != bytes.size())
    return std::nullopt;
  for (uint64_t i = 1; i <= count; ++i) {
    if (at(i) > at(i + 1))
      return std::nullopt;
    strings.push_back(StringRef(reinterpret_cast<const char *>(bytes.data()) + at(i), at(i + 1) - at(i)));
  }
  return strings;
}

bool printElements(llvm::raw_ostream &os, TensorType type, ArrayRef<uint8_t> bytes, uint64_t count) {
  StringRef separator = "";
  if (type == TensorType::STRING) {
    auto strings = stringsOf(bytes);
    if (!strings || strings->size() != count)
      return false;
    os << '[';
    for (StringRef string : *strings) {
      os << separator;
      printQuoted(os, string);
      separator = ", ";
    }
    os << ']';
    return true;
  }
  NumberKind kind = numberKind(type);
  if (!kind || payloadBytes(type, count) != bytes.size())
    return false;
  uint64_t numbers = count * kind.perElement;
  if (!hasCleanEnd(kind, bytes, numbers))
    return false;
  os << '[';
  for (uint64_t i = 0; i < numbers; ++i) {
    os << separator;
    printNumber(os, kind, numberAt(kind, bytes, i));
    separator = ", ";
  }
  os << ']';
  return true;
}

bool parseElements(Reader &reader, TensorType type, std::string &bytes, uint64_t &count) {
  count = 0;
  if (type == TensorType::STRING) {
    std::vector<uint32_t> offsets;
    std::string characters, string;
    if (!reader.list('[', ']', [&] {
          offsets.push_back(characters.size());
          if (!reader.string(string, "a string"))
            return false;
          characters += string;
          if (characters.size() + 4 * (offsets.size() + 2) >= INT32_MAX)
            return reader.fail("the strings are too long for a tensor");
          ++count;
          return true;
        }))
      return false;
    offsets.push_back(characters.size());
    auto append = [&](uint32_t value) { bytes.append(reinterpret_cast<const char *>(&value), 4); };
    append(count);
    for (uint32_t offset : offsets)
      append(offset + 4 * (count + 2));
    bytes += characters;
    return true;
  }
  NumberKind kind = numberKind(type);
  if (!kind)
    return reader.fail("elements of this type can be given as hex\"…\" only");
  uint64_t numbers = 0, bits;
  if (!reader.list('[', ']', [&] {
        if (!parseNumber(reader, kind, bits))
          return false;
        appendNumber(kind, bytes, numbers++, bits);
        return true;
      }))
    return false;
  if (numbers % kind.perElement)
    return reader.fail("expected two numbers for each complex element");
  count = numbers / kind.perElement;
  return true;
}

bool printSplat(llvm::raw_ostream &os, TensorType type, ArrayRef<uint8_t> bytes, uint64_t count) {
  NumberKind kind = numberKind(type);
  if (!kind || count < 2 || payloadBytes(type, count) != bytes.size())
    return false;
  if (kind.bits < 8) {
    std::string pattern;
    for (unsigned i = 0; i < 8 / kind.bits; ++i)
      appendNumber(kind, pattern, i, numberAt(kind, bytes, 0));
    // The last byte may be filled in part only.
    uint64_t whole = count * kind.bits / 8;
    if (whole &&
        (bytes[0] != static_cast<uint8_t>(pattern[0]) || std::memcmp(bytes.data(), bytes.data() + 1, whole - 1)))
      return false;
    for (uint64_t i = whole * 8 / kind.bits; i < count; ++i)
      if (numberAt(kind, bytes, i) != numberAt(kind, bytes, 0))
        return false;
    if (!hasCleanEnd(kind, bytes, count))
      return false;
  } else {
    size_t width = kind.bits / 8 * kind.perElement;
    if (std::memcmp(bytes.data(), bytes.data() + width, bytes.size() - width) != 0)
      return false;
  }
  printNumber(os, kind, numberAt(kind, bytes, 0));
  if (kind.perElement == 2) {
    os << ' ';
    printNumber(os, kind, numberAt(kind, bytes, 1));
  }
  return true;
}

bool parseSplat(Reader &reader, TensorType type, std::string &pattern) {
  NumberKind kind = numberKind(type);
  if (!kind)
    return reader.fail("a splat of this type cannot be given");
  uint64_t bits;
  if (kind.bits < 8) {
    if (!parseNumber(reader, kind, bits))
      return false;
    for (unsigned i = 0; i < 8 / kind.bits; ++i)
      appendNumber(kind, pattern, i, bits);
    return true;
  }
  for (unsigned i = 0; i < kind.perElement; ++i) {
    if (!parseNumber(reader, kind, bits))
      return false;
    appendNumber(kind, pattern, i, bits);
  }
  return true;
}

bool parseSeed(Reader &reader, TensorType type, Seed &seed) {
  seed.kind = numberKind(type);
  if (!seed.kind || seed.kind.perElement != 1 || seed.kind.bits < 8)
    return reader.fail("elements of this type cannot be made from a seed");
  if (!reader.unsigned64(seed.seed, "a seed"))
    return false;
  if (!reader.atWord("uniform") && !reader.atWord("normal"))
    return reader.expected("'uniform' or 'normal'");
  seed.normal = reader.atWord("normal");
  reader.advance();
  Token where = reader.token;
  uint64_t first, second;
  if (!parseNumber(reader, numberKind(wire::Type::Float64), first) ||
      !parseNumber(reader, numberKind(wire::Type::Float64), second))
    return false;
  seed.first = bitsAs<double>(first), seed.second = bitsAs<double>(second);
  if (!std::isfinite(seed.first) || !std::isfinite(seed.second) || std::abs(seed.first) > 1e300 ||
      std::abs(seed.second) > 1e300)
    return reader.failAt(where, "the numbers of a seed have to be finite");
  bool isInteger = seed.kind.kind != NumberKind::Float;
  if (!seed.normal && (seed.second < seed.first ||
                       (isInteger && (std::abs(seed.first) > 0x1p53 || std::abs(seed.second) > 0x1p53 ||
                                      seed.first != std::floor(seed.first) || seed.second != std::floor(seed.second)))))
    return reader.failAt(where, "expected two ascending bounds, of integers two integers of at most 2^53");
  return true;
}

/// Number `index` of the splitmix64 sequence.
static uint64_t splitmix64(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

static double seededReal(const Seed &seed, uint64_t index) {
  if (!seed.normal) {
    double unit = static_cast<double>(splitmix64(seed.seed, index) >> 11) * 0x1p-53;
    return seed.first + unit * (seed.second - seed.first);
  }
  // The sum of twelve uniform numbers of 16 bits, because it needs no function that libraries round differently.
  int64_t sum = 0;
  for (unsigned draw = 0; draw < 3; ++draw) {
    uint64_t bits = splitmix64(seed.seed, 3 * index + draw);
    for (unsigned lane = 0; lane < 4; ++lane)
      sum += bits >> (16 * lane) & 0xFFFF;
  }
  return seed.first + static_cast<double>(sum - 6 * 0xFFFF) * 0x1p-16 * seed.second;
}

static uint64_t seededInteger(const Seed &seed, uint64_t index) {
  bool isSigned = seed.kind.kind == NumberKind::Signed;
  double low = 0, high = seed.kind.kind == NumberKind::Bool ? 1 : std::ldexp(1.0, seed.kind.bits - isSigned) - 1;
  if (isSigned)
    low = -std::ldexp(1.0, seed.kind.bits - 1);
  double value;
  if (seed.normal) {
    value = std::nearbyint(seededReal(seed, index));
  } else {
    auto range = static_cast<unsigned __int128>(seed.second - seed.first) + 1;
    value = seed.first + static_cast<double>(static_cast<uint64_t>(splitmix64(seed.seed, index) * range >> 64));
  }
  if (value <= low)
    return isSigned ? static_cast<uint64_t>(INT64_MIN) >> (64 - seed.kind.bits) : 0;
  if (value >= high) // the highest number of 64 bits is no double
    return lowBits(~0ull, seed.kind.kind == NumberKind::Bool ? 1 : seed.kind.bits - isSigned);
  return isSigned ? static_cast<uint64_t>(static_cast<int64_t>(value)) : static_cast<uint64_t>(value);
}

void fillSeeded(const Seed &seed, llvm::MutableArrayRef<uint8_t> window, uint64_t offset) {
  size_t width = seed.kind.bits / 8;
  uint64_t index = offset / width;
  for (size_t at = 0; at + width <= window.size(); at += width, ++index) {
    uint64_t bits;
    if (seed.kind.kind != NumberKind::Float) {
      bits = seededInteger(seed, index);
    } else if (double value = seededReal(seed, index); seed.kind.bits == 64) {
      bits = bitsAs<uint64_t>(value);
    } else if (seed.kind.bits == 32) {
      bits = bitsAs<uint32_t>(static_cast<float>(value));
    } else {
      APFloat narrow(value);
      bool lost;
      narrow.convert(*seed.kind.semantics, APFloat::rmNearestTiesToEven, &lost);
      bits = narrow.bitcastToAPInt().getZExtValue();
    }
    std::memcpy(&window[at], &bits, width);
  }
}

} // namespace origo::text
