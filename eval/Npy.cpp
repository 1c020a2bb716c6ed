#include "eval/Npy.h"

#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace origo::eval {

namespace {

struct Name {
  TensorType type;
  llvm::StringLiteral code;
};
constexpr Name names[] = {
    {TensorType::FLOAT16, "f2"},   {TensorType::FLOAT32, "f4"},     {TensorType::FLOAT64, "f8"},
    {TensorType::INT8, "i1"},      {TensorType::INT16, "i2"},       {TensorType::INT32, "i4"},
    {TensorType::INT64, "i8"},     {TensorType::UINT8, "u1"},       {TensorType::UINT16, "u2"},
    {TensorType::UINT32, "u4"},    {TensorType::UINT64, "u8"},      {TensorType::BOOL, "b1"},
    {TensorType::COMPLEX64, "c8"}, {TensorType::COMPLEX128, "c16"},
};

/// The header is a Python dictionary: strings, truth values, numbers and one tuple.
class Header {
public:
  explicit Header(llvm::StringRef text) : rest(text) {}
  std::optional<std::string> type;
  std::optional<bool> fortran;
  std::optional<Shape> shape;

  llvm::Error parse() {
    if (!eat("{"))
      return broken("begins with no dictionary");
    while (!eat("}")) {
      std::optional<llvm::StringRef> key = string();
      if (!key || !eat(":"))
        return broken("has a malformed entry");
      bool good = *key == "descr"           ? parseType()
                  : *key == "fortran_order" ? parseOrder()
                                            : *key == "shape" && parseShape();
      if (!good)
        return broken("has an entry \"" + printable(*key) + "\" that is not understood");
      if (!eat(",") && !rest.ltrim().starts_with("}"))
        return broken("has a malformed entry");
    }
    if (!rest.trim().empty())
      return broken("goes on behind its end");
    if (!type || !fortran || !shape)
      return broken("lacks descr, fortran_order or shape");
    return llvm::Error::success();
  }

private:
  llvm::StringRef rest;

  static llvm::Error broken(const llvm::Twine &what) { return makeError("the .npy header " + what); }
  bool eat(llvm::StringRef token) {
    llvm::StringRef at = rest.ltrim();
    if (!at.consume_front(token))
      return false;
    rest = at;
    return true;
  }
  std::optional<llvm::StringRef> string() {
    llvm::StringRef at = rest.ltrim();
    if (at.empty() || (at[0] != '\'' && at[0] != '"'))
      return std::nullopt;
    size_t end = at.find(at[0], 1);
    if (end == llvm::StringRef::npos)
      return std::nullopt;
    rest = at.drop_front(end + 1);
    return at.slice(1, end);
  }
  bool parseType() {
    std::optional<llvm::StringRef> text = string();
    if (text)
      type = text->str();
    return text.has_value();
  }
  bool parseOrder() {
    fortran = eat("True");
    return *fortran || eat("False");
  }
  bool parseShape() {
    if (!eat("("))
      return false;
    shape.emplace();
    while (!eat(")")) {
      int32_t dim;
      rest = rest.ltrim();
      if (rest.consumeInteger(10, dim) || dim < 0)
        return false;
      eat("L"); // Python 2
      shape->push_back(dim);
      if (!eat(",") && !rest.ltrim().starts_with(")"))
        return false;
    }
    return true;
  }
};

} // namespace

llvm::Expected<OwnedTensor> readNpy(llvm::ArrayRef<uint8_t> file) {
  llvm::StringRef text(reinterpret_cast<const char *>(file.data()), file.size());
  if (!text.consume_front("\x93NUMPY") || text.size() < 4)
    return makeError("is not a .npy file");
  unsigned version = static_cast<uint8_t>(text[0]);
  if (version < 1 || version > 3)
    return makeError("is a .npy file of the unknown version " + llvm::Twine(version));
  text = text.drop_front(2);
  size_t digits = version == 1 ? 2 : 4, length = 0;
  if (text.size() < digits)
    return makeError("ends in its .npy header");
  for (size_t i = digits; i-- > 0;)
    length = length << 8 | static_cast<uint8_t>(text[i]);
  text = text.drop_front(digits);
  if (length > text.size())
    return makeError("ends in its .npy header");
  Header header(text.take_front(length));
  if (llvm::Error error = header.parse())
    return error;
  text = text.drop_front(length);

  llvm::StringRef code = *header.type;
  if (code.starts_with(">"))
    return makeError("holds big-endian numbers; write it with array.astype(array.dtype.newbyteorder('<'))");
  const auto *name = llvm::find_if(names, [&](const Name &n) { return !code.empty() && code.drop_front() == n.code; });
  if (name == std::end(names) || !llvm::is_contained("<|=", code[0]))
    return makeError("holds elements of numpy's type \"" + printable(code) + "\", which no tensor has");
  if (*header.fortran)
    return makeError("is in Fortran order; write it with numpy.ascontiguousarray(array)");
  uint64_t bytes = *bitsPerElement(name->type) / 8;
  for (int32_t dim : *header.shape)
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(dim), &bytes))
      return makeError("has an impossible shape");
  if (bytes != text.size())
    return makeError("has " + llvm::Twine(text.size()) + " bytes of elements, its shape wants " + llvm::Twine(bytes));
  return OwnedTensor{name->type, *header.shape, {text.bytes_begin(), text.bytes_end()}};
}

std::string npyHeader(TensorType type, llvm::ArrayRef<int32_t> shape, uint64_t bytes) {
  const auto *name = llvm::find_if(names, [&](const Name &n) { return n.type == type; });
  bool known = name != std::end(names);
  std::string code = known ? name->code.str() : "u1", dims;
  if (known)
    for (int32_t dim : shape)
      dims += std::to_string(dim) + ",";
  else
    dims = std::to_string(bytes) + ",";
  bool small = code == "u1" || code == "i1" || code == "b1";
  std::string text =
      std::string("{'descr': '") + (small ? "|" : "<") + code + "', 'fortran_order': False, 'shape': (" + dims + "), }";
  // The elements begin at a multiple of 64.
  while ((10 + text.size() + 1) % 64)
    text += ' ';
  text += '\n';
  std::string header("\x93NUMPY\x01\x00", 8);
  header += static_cast<char>(text.size() & 0xff);
  header += static_cast<char>(text.size() >> 8);
  return header + text;
}

} // namespace origo::eval
