#include "quantize/Expression.h"

#include "llvm/ADT/StringExtras.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace origo::quantize {

using llvm::StringRef;

namespace {

/// An expression of Python's, in PCRE2's words: the two differ in a few, and PCRE2 knows more than Python takes.
class Translation {
public:
  explicit Translation(StringRef python) : rest(python) {}
  std::string pattern;
  uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_AUTO_CALLOUT;

  /// What Python says against it; empty: nothing.
  std::string run() {
    std::string why = globalFlags();
    while (why.empty() && !rest.empty())
      why = step();
    return why;
  }

private:
  StringRef rest; ///< what is not translated yet

  void copy(size_t count) {
    pattern += rest.take_front(count);
    rest = rest.drop_front(std::min(count, rest.size()));
  }
  bool replace(StringRef python, StringRef pcre) {
    if (!rest.consume_front(python))
      return false;
    pattern += pcre;
    return true;
  }

  /// (?i) and others, which stand in front.
  std::string globalFlags() {
    constexpr StringRef letters = "aimsxu";
    constexpr uint32_t meanings[] = {0, PCRE2_CASELESS, PCRE2_MULTILINE, PCRE2_DOTALL, PCRE2_EXTENDED, 0};
    while (rest.starts_with("(?")) {
      StringRef flags = rest.drop_front(2).take_while(llvm::isAlpha);
      if (flags.empty() || !rest.drop_front(2 + flags.size()).starts_with(")"))
        break;
      for (char flag : flags) {
        size_t which = letters.find(flag);
        if (which == StringRef::npos)
          return "there is no flag " + std::string(1, flag) + " for text";
        options |= meanings[which];
        if (flag == 'a')
          options &= ~PCRE2_UCP;
      }
      rest = rest.drop_front(3 + flags.size());
    }
    return {};
  }

  std::string step() {
    switch (rest.front()) {
    case '\\':
      return escape(false);
    case '[':
      return set();
    case '(':
      return group();
    case '{':
      if (!replace("{,}", "{0,}") && !replace("{,", "{0,"))
        copy(1);
      return {};
    case '#':
      copy(options & PCRE2_EXTENDED ? rest.take_until([](char c) { return c == '\n'; }).size() : 1);
      return {};
    default:
      copy(1);
      return {};
    }
  }

  std::string escape(bool inSet) {
    char c = rest.size() > 1 ? rest[1] : '\0';
    if (replace("\\a", "\\x07") || replace("\\v", "\\x0b") || (!inSet && replace("\\Z", "\\z")))
      return {};
    if (size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0) {
      StringRef number = rest.substr(2, digits);
      if (number.size() < digits || !llvm::all_of(number, llvm::isHexDigit))
        return "the escape \\" + std::string(1, c) + " is incomplete";
      pattern += ("\\x{" + number + "}").str();
      rest = rest.drop_front(2 + digits);
      return {};
    }
    constexpr StringRef everywhere = "bdDsSwWfnrt", outside = "AB";
    if (llvm::isAlpha(c) && !everywhere.contains(c) && (inSet || !outside.contains(c)))
      return "there is no escape \\" + std::string(1, c);
    copy(2);
    return {};
  }

  std::string set() {
    copy(rest.starts_with("[^") ? 2 : 1);
    if (rest.starts_with("]"))
      copy(1);
    while (!rest.empty() && rest.front() != ']') {
      std::string why;
      if (rest.front() == '\\')
        why = escape(true);
      else if (!replace("[", "\\[")) // PCRE2 has names of sets within
        copy(1);
      if (!why.empty())
        return why;
    }
    copy(1); // PCRE2 says where the end is missing
    return {};
  }

  std::string group() {
    if (rest.starts_with("(*"))
      return "nothing to repeat";
    if (!rest.starts_with("(?")) {
      copy(1);
      return {};
    }
    StringRef inside = rest.drop_front(2);
    if (inside.starts_with("#")) {
      copy(rest.find(')') == StringRef::npos ? rest.size() : rest.find(')') + 1);
      return {};
    }
    for (StringRef known : {":", "=", "!", "<=", "<!", ">", "P<", "P="})
      if (inside.starts_with(known)) {
        copy(2 + known.size());
        return {};
      }
    if (inside.consume_front("(")) { // a choice by whether a group was found
      StringRef name = inside.take_until([](char c) { return c == ')'; });
      bool isNumber = !name.empty() && llvm::all_of(name, llvm::isDigit);
      if (!isNumber && (name.empty() || !llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; })))
        return "the condition of (?( names no group";
      pattern += isNumber ? ("(?(" + name + ")").str() : ("(?(<" + name + ">)").str();
      rest = inside.drop_front(std::min(name.size() + 1, inside.size()));
      return {};
    }
    StringRef flags = inside.take_while([](char c) { return llvm::isAlpha(c) || c == '-'; });
    StringRef behind = inside.drop_front(flags.size());
    if (flags.empty() || !behind.starts_with(":") || flags.find_first_not_of("imsxu-") != StringRef::npos)
      return behind.starts_with(")") ? "flags for all of it stand at its beginning"
                                     : ("there is no (?" + inside.take_front(1)).str();
    pattern += "(?";
    llvm::copy_if(flags, std::back_inserter(pattern), [](char c) { return c != 'u'; }); // which is so
    rest = behind;
    return {};
  }
};

int countStep(pcre2_callout_block_8 *, void *left) {
  uint64_t &steps = *static_cast<uint64_t *>(left);
  if (steps == 0)
    return PCRE2_ERROR_MATCHLIMIT;
  --steps;
  return 0;
}

} // namespace

void Expression::Free::operator()(pcre2_real_code_8 *code) const { pcre2_code_free_8(code); }

llvm::Expected<Expression> Expression::compile(StringRef python) {
  auto wrong = [&](const llvm::Twine &why) {
    return makeError("\"" + printable(python) + "\" is no expression of Python's: " + why);
  };
  Translation translation(python);
  if (std::string why = translation.run(); !why.empty())
    return wrong(why);
  std::unique_ptr<pcre2_compile_context_8, decltype(&pcre2_compile_context_free_8)> context(
      pcre2_compile_context_create_8(nullptr), pcre2_compile_context_free_8);
  pcre2_set_newline_8(context.get(), PCRE2_NEWLINE_LF);
  int number = 0;
  size_t offset = 0;
  Expression made;
  made.python = python.str();
  made.code.reset(pcre2_compile_8(reinterpret_cast<PCRE2_SPTR8>(translation.pattern.data()), translation.pattern.size(),
                                  translation.options, &number, &offset, context.get()));
  if (made.code)
    return made;
  PCRE2_UCHAR8 text[256] = {};
  pcre2_get_error_message_8(number, text, sizeof(text));
  return wrong(reinterpret_cast<const char *>(text));
}

llvm::Expected<bool> Expression::isIn(StringRef text, Budget &budget) const {
  budget.steps += 10'000 + 300 * uint64_t(text.size());
  std::unique_ptr<pcre2_match_context_8, decltype(&pcre2_match_context_free_8)> context(
      pcre2_match_context_create_8(nullptr), pcre2_match_context_free_8);
  std::unique_ptr<pcre2_match_data_8, decltype(&pcre2_match_data_free_8)> found(pcre2_match_data_create_8(1, nullptr),
                                                                                pcre2_match_data_free_8);
  pcre2_set_callout_8(context.get(), countStep, &budget.steps);
  pcre2_set_match_limit_8(context.get(), 10'000'000);
  pcre2_set_heap_limit_8(context.get(), 64 << 10); // in units of 1,024 bytes
  int result = pcre2_match_8(code.get(), reinterpret_cast<PCRE2_SPTR8>(text.empty() ? "" : text.data()), text.size(), 0,
                             0, found.get(), context.get());
  if (result >= 0 || result == PCRE2_ERROR_NOMATCH)
    return result >= 0;
  return makeError("\"" + printable(python) + "\" takes too long to search \"" + printable(text) +
                   "\" for; make it simpler: one repetition within another is often at fault");
}

} // namespace origo::quantize
