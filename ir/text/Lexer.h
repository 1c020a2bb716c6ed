#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <string>

/// What the files of the text form share; nothing outside ir/text/ includes the headers beside Text.h.
namespace origo::text {

struct Token {
  enum Kind : uint8_t {
    End,
    Newline, ///< outside of brackets only
    Word,    ///< name of an operator, an option, a keyword
    Number,  ///< anything that begins like a number; also -inf and -nan
    String,  ///< `text` is what stands between the quotes, escapes and all
    Hex,     ///< hex"…", likewise
    Value,   ///< %…
    Graph,   ///< @…
    Label,   ///< #12
    Range,   ///< ..
    Arrow,   ///< ->
    Punct,   ///< one of ( ) [ ] { } = : , . ?
    Bad,     ///< `text` says why
  };
  enum Style : uint8_t { Plain, Quoted, Handle }; ///< of a %name or an @name: %x, %"x", %#12
  Kind kind = End;
  Style style = Plain;
  llvm::StringRef text; ///< without sigils and quotes
  uint32_t line = 1, column = 1;

  bool is(char punct) const { return kind == Punct && text[0] == punct; }
  bool isWord(llvm::StringRef word) const { return kind == Word && text == word; }
};

class Lexer {
public:
  explicit Lexer(llvm::StringRef source) : source(source) {}
  Token next();

  /// Newlines end a statement only where no more brackets than this are open.
  unsigned statementDepth = 0;

private:
  llvm::StringRef source;
  size_t at = 0, lineStart = 0;
  uint32_t line = 1;
  unsigned depth = 0;

  char peek(size_t ahead = 0) const { return at + ahead < source.size() ? source[at + ahead] : '\0'; }
  bool quoted(Token &token);
  Token name(Token token);
  Token number(Token token);
};

/// The current token of a text, and the first thing that was wrong with it. Functions that read return false where they
/// failed, and then the error has been kept.
class Reader {
public:
  explicit Reader(llvm::StringRef source) : lexer(source) { advance(); }

  Lexer lexer;
  Token token;

  void advance() { token = lexer.next(); }
  bool fail(const llvm::Twine &message) { return failAt(token, message); }
  bool failAt(const Token &where, const llvm::Twine &message) { return failAt(where.line, where.column, message); }
  bool failAt(uint32_t line, uint32_t column, const llvm::Twine &message);
  /// "expected WHAT, found …".
  bool expected(const llvm::Twine &what);
  bool failed() const { return !failure.empty(); }
  llvm::Error takeError();

  bool at(char punct) const { return token.is(punct); }
  bool atWord(llvm::StringRef word) const { return token.isWord(word); }
  bool accept(char punct) { return at(punct) && (advance(), true); }
  bool acceptWord(llvm::StringRef word) { return atWord(word) && (advance(), true); }
  bool expect(char punct);
  bool expectWord(llvm::StringRef word);

  bool integer(int64_t &value, int64_t low, int64_t high, const llvm::Twine &what);
  template <class T> bool integer(T &value, const llvm::Twine &what) {
    static_assert(sizeof(T) < 8 || std::is_signed_v<T>);
    int64_t wide = 0;
    bool good = integer(wide, std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), what);
    value = static_cast<T>(wide);
    return good;
  }
  bool unsigned64(uint64_t &value, const llvm::Twine &what);
  bool string(std::string &value, const llvm::Twine &what);
  bool hex(std::string &bytes);
  /// `open`, items with commas between them (one more at the end is fine), `close`.
  template <class F> bool list(char open, char close, F item) {
    if (!expect(open))
      return false;
    while (!at(close)) {
      if (!item())
        return false;
      if (!accept(',') && !at(close))
        return expected(llvm::Twine("',' or '") + llvm::Twine(close) + "'");
    }
    advance();
    return true;
  }

private:
  std::string failure;
};

/// Resolves the escapes of a string token. Fails on what is not an escape.
bool unescape(Reader &reader, const Token &token, std::string &value);
/// With quotes. What does not show (Character), quotes and backslashes are escaped.
void printQuoted(llvm::raw_ostream &os, llvm::StringRef text);
void printHex(llvm::raw_ostream &os, llvm::ArrayRef<uint8_t> bytes);
/// Can it stand after % or @ as it is?
bool isPlainName(llvm::StringRef name);

} // namespace origo::text
