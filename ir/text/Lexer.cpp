#include "ir/text/Lexer.h"

#include "ir/Error.h"
#include "ir/Printable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

namespace origo::text {

using llvm::StringRef;
using llvm::Twine;

static bool isNameChar(char c) { return llvm::isAlnum(c) || StringRef("_./:;-").contains(c); }
static bool isWordChar(char c) { return llvm::isAlnum(c) || c == '_'; }

bool isPlainName(StringRef name) { return !name.empty() && isWordChar(name.back()) && llvm::all_of(name, isNameChar); }

Token Lexer::next() {
  Token token;
  for (;; ++at) {
    char c = peek();
    if (c == ';' || (c == '/' && peek(1) == '/')) {
      at = std::min(source.find('\n', at), source.size());
      c = peek();
    }
    if (at >= source.size())
      break;
    if (c == '\n') {
      token.line = line, token.column = at - lineStart + 1;
      ++line;
      lineStart = at + 1;
      if (depth <= statementDepth) {
        ++at;
        token.kind = Token::Newline;
        return token;
      }
    } else if (c != ' ' && c != '\t' && c != '\r') {
      break;
    }
  }
  token.line = line, token.column = at - lineStart + 1;
  if (at >= source.size())
    return token;

  char c = peek();
  if (c == '%' || c == '@')
    return name(token);
  if (c == '"') {
    token.kind = Token::String;
    quoted(token);
    return token;
  }
  if (StringRef(source).substr(at).starts_with("hex\"")) {
    at += 3;
    token.kind = Token::Hex;
    quoted(token);
    return token;
  }
  if (llvm::isAlpha(c) || c == '_') {
    size_t end = at;
    while (end < source.size() && isWordChar(source[end]))
      ++end;
    token.kind = Token::Word;
    token.text = source.slice(at, end);
    at = end;
    return token;
  }
  if (c == '#') {
    size_t end = at + 1;
    while (end < source.size() && llvm::isDigit(source[end]))
      ++end;
    token.kind = end > at + 1 ? Token::Label : Token::Bad;
    token.text = end > at + 1 ? source.slice(at + 1, end) : StringRef("a number has to follow '#'");
    at = end;
    return token;
  }
  if (c == '-' && peek(1) == '>') {
    token.kind = Token::Arrow;
    token.text = source.substr(at, 2);
    at += 2;
    return token;
  }
  if (c == '.' && peek(1) == '.') {
    token.kind = Token::Range;
    token.text = source.substr(at, 2);
    at += 2;
    return token;
  }
  if (llvm::isDigit(c) || c == '-' || c == '+')
    return number(token);
  token.text = source.substr(at++, 1);
  token.kind = Token::Punct;
  if (c == '(' || c == '[' || c == '{') {
    ++depth;
  } else if (c == ')' || c == ']' || c == '}') {
    depth -= depth > 0;
  } else if (!StringRef("=:,.?").contains(c)) {
    token.kind = Token::Bad;
    token.text = "there is a character that has no meaning here";
  }
  return token;
}

/// A string from its opening quote on.
bool Lexer::quoted(Token &token) {
  size_t begin = ++at;
  while (at < source.size() && source[at] != '"' && source[at] != '\n')
    at += source[at] == '\\' && at + 1 < source.size() && source[at + 1] != '\n' ? 2 : 1;
  token.text = source.slice(begin, at);
  if (peek() == '"') {
    ++at;
    return true;
  }
  token.kind = Token::Bad;
  token.text = "the string does not end in its line";
  return false;
}

Token Lexer::name(Token token) {
  token.kind = peek() == '%' ? Token::Value : Token::Graph;
  ++at;
  if (peek() == '"') {
    token.style = Token::Quoted;
    quoted(token);
    return token;
  }
  size_t begin = at, end = at;
  if (peek() == '#') {
    token.style = Token::Handle;
    begin = end = at + 1;
    while (end < source.size() && llvm::isDigit(source[end]))
      ++end;
  } else {
    while (end < source.size() && isNameChar(source[end]))
      ++end;
    // A name does not end in a sign, so that `%x: f32` and `%x; comment` are read as one expects.
    while (end > begin && !isWordChar(source[end - 1]))
      --end;
  }
  token.text = source.slice(begin, end);
  at = end;
  if (token.text.empty()) {
    token.kind = Token::Bad;
    token.text = "a name has to follow '%' or '@'";
  }
  return token;
}

Token Lexer::number(Token token) {
  size_t end = at + (peek() == '-' || peek() == '+');
  bool isHex = StringRef(source).substr(end).starts_with("0x");
  while (end < source.size()) {
    char c = source[end];
    bool exponent = !isHex && (c == '+' || c == '-') && (source[end - 1] == 'e' || source[end - 1] == 'E');
    bool point = c == '.' && !StringRef(source).substr(end).starts_with("..");
    if (!isWordChar(c) && !exponent && !point)
      break;
    ++end;
  }
  token.kind = Token::Number;
  token.text = source.slice(at, end);
  at = end;
  return token;
}

bool Reader::failAt(uint32_t line, uint32_t column, const Twine &message) {
  if (failure.empty())
    failure = ("line " + Twine(line) + ", column " + Twine(column) + ": " + message).str();
  return false;
}

bool Reader::expected(const Twine &what) {
  std::string found;
  switch (token.kind) {
  case Token::End:
    found = "the end of the text";
    break;
  case Token::Newline:
    found = "the end of the line";
    break;
  case Token::Bad:
    return fail(token.text);
  case Token::String:
    found = "a string";
    break;
  case Token::Hex:
    found = "hex bytes";
    break;
  case Token::Value:
  case Token::Graph:
  case Token::Label:
    found = ("'" +
             Twine(token.kind == Token::Value   ? "%"
                   : token.kind == Token::Graph ? "@"
                                                : "#") +
             printable(token.text, 40) + "'")
                .str();
    break;
  default:
    found = "'" + printable(token.text, 40) + "'";
  }
  return fail("expected " + what + ", found " + found);
}

llvm::Error Reader::takeError() { return failure.empty() ? llvm::Error::success() : makeError(failure); }

bool Reader::expect(char punct) { return accept(punct) || expected("'" + Twine(punct) + "'"); }
bool Reader::expectWord(StringRef word) { return acceptWord(word) || expected("'" + word + "'"); }

bool Reader::integer(int64_t &value, int64_t low, int64_t high, const Twine &what) {
  if (token.kind != Token::Number)
    return expected(what);
  StringRef digits = token.text;
  digits.consume_front("+");
  bool isHex = digits.starts_with("0x") || digits.starts_with("-0x");
  // A number that StringRef takes for octal or the like is not one here.
  if (digits.getAsInteger(isHex ? 0 : 10, value))
    return expected(what);
  if (value < low || value > high)
    return fail(what + " is out of range: " + token.text);
  advance();
  return true;
}

bool Reader::unsigned64(uint64_t &value, const Twine &what) {
  if (token.kind != Token::Number || token.text.getAsInteger(token.text.starts_with("0x") ? 0 : 10, value))
    return expected(what);
  advance();
  return true;
}

bool Reader::string(std::string &value, const Twine &what) {
  if (token.kind != Token::String)
    return expected(what);
  if (!unescape(*this, token, value))
    return false;
  advance();
  return true;
}

bool Reader::hex(std::string &bytes) {
  if (token.kind != Token::Hex)
    return expected("hex bytes");
  StringRef text = token.text;
  if (text.size() % 2)
    return fail("expected an even number of hex digits");
  bytes.reserve(text.size() / 2);
  for (size_t i = 0; i < text.size(); i += 2) {
    unsigned high = llvm::hexDigitValue(text[i]), low = llvm::hexDigitValue(text[i + 1]);
    if (high > 15 || low > 15)
      return failAt(token.line, token.column + 4 + i + (high <= 15), "expected a hex digit");
    bytes.push_back(static_cast<char>(high << 4 | low));
  }
  advance();
  return true;
}

bool unescape(Reader &reader, const Token &token, std::string &value) {
  StringRef text = token.text;
  value.clear();
  value.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      value.push_back(text[i]);
      continue;
    }
    char c = ++i < text.size() ? text[i] : '\0';
    if (c == 'x' && i + 2 < text.size() && llvm::isHexDigit(text[i + 1]) && llvm::isHexDigit(text[i + 2])) {
      value.push_back(static_cast<char>(llvm::hexDigitValue(text[i + 1]) << 4 | llvm::hexDigitValue(text[i + 2])));
      i += 2;
    } else if (c == 'n') {
      value.push_back('\n');
    } else if (c == 't') {
      value.push_back('\t');
    } else if (c == '"' || c == '\\') {
      value.push_back(c);
    } else {
      return reader.failAt(token, "the string has an escape that is none of \\\\ \\\" \\n \\t \\xNN");
    }
  }
  return true;
}

void printQuoted(llvm::raw_ostream &os, StringRef text) {
  os << '"';
  while (!text.empty()) {
    auto [length, code, shows] = firstCharacter(text);
    if (code == '\n' || code == '\t')
      os << (code == '\n' ? "\\n" : "\\t");
    else if (!shows)
      for (unsigned char c : text.take_front(length))
        os << "\\x" << llvm::hexdigit(c >> 4, true) << llvm::hexdigit(c & 15, true);
    else
      os << (code == '"' || code == '\\' ? "\\" : "") << text.take_front(length);
    text = text.drop_front(length);
  }
  os << '"';
}

void printHex(llvm::raw_ostream &os, llvm::ArrayRef<uint8_t> bytes) {
  os << "hex\"";
  for (uint8_t byte : bytes)
    os << llvm::hexdigit(byte >> 4, true) << llvm::hexdigit(byte & 15, true);
  os << '"';
}

} // namespace origo::text
