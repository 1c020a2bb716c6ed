#pragma once

#include "ir/Error.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <array>
#include <charconv>
#include <optional>
#include <vector>

/// A command is a request, a struct; an option is a row that names a member of it. The type of an option comes from the
/// member, its default from a fresh request. Command lines, `.cfg` files, Python, help and completion read the rows.
namespace origo::commands {

struct Choice {
  llvm::StringRef name, help;
};
template <class E> struct ChoiceOf {
  llvm::StringRef name;
  E value;
  llvm::StringRef help;
};
/// The words for an enumeration: an array of ChoiceOf, specialised beside the enumeration.
template <class E> inline constexpr std::array<ChoiceOf<E>, 0> choicesOf{};

/// A list whose option is given once for each element; elements of a std::vector are separated by commas.
template <class T> struct Repeated : std::vector<T> {};

/// Why a door does not have an option. Every option has no such reason, or one of these.
enum class Without : uint8_t {
  Nothing, ///< the door has it
  Place,   ///< names the model, or says how its file is written, which the door does in its own way
  Ignored, ///< is accepted for command lines of other tools, and does nothing
  Prints,  ///< prints for people, or asks somebody at each step; a program has the result
  Flags,   ///< asks for passes by a flag of the toolchain; `passes` and `skip` name them
};

struct Option {
  llvm::StringRef name = {}, value = {}, help = {}; ///< value: what stands for it in help, such as FILE
  llvm::StringRef category = "Options";
  llvm::StringRef also = {}; ///< other spellings, such as the toolchain's, with commas between them
  llvm::StringRef key = {};  ///< in a section of a .cfg file, where it is another one
  llvm::StringRef word = {}; ///< in Python, where it is another one
  bool prefix = false;       ///< the value follows at once, as in -O1
  bool bare = false;         ///< the value may be left out, and follows `=` only
  bool writes = false;       ///< names a file that is written
  Without python = Without::Nothing, cfg = Without::Nothing;

  // What follows from the member; option() fills it in.
  bool flag = false;
  bool repeats = false;      ///< may be given several times
  bool splits = false;       ///< at commas
  unsigned words = 1;        ///< that follow a name without `=`
  llvm::StringRef type = {}; ///< of an element, in Python; empty: one of the choices
  /// Takes a text: a word, or several with commas between them. The error says what is wrong with it, to be read behind
  /// the name of the option.
  llvm::Error (*setText)(const Option &row, void *request, llvm::StringRef text) = nullptr;
  /// The texts that setText() makes it of; none: it is as in no request that mentions it.
  std::vector<std::string> (*getTexts)(const Option &row, const void *request) = nullptr;
  std::vector<Choice> (*choices)() = nullptr;

  llvm::Error set(void *request, llvm::StringRef text) const { return setText(*this, request, text); }
  std::vector<std::string> get(const void *request) const { return getTexts(*this, request); }

  /// In Python.
  std::string keyword() const {
    std::string text = word.empty() ? name.lower() : word.str();
    std::replace(text.begin(), text.end(), '-', '_');
    return text;
  }
  std::string spelled() const { return (name.size() == 1 ? "-" : "--") + name.str(); }
  llvm::SmallVector<llvm::StringRef, 3> names() const {
    llvm::SmallVector<llvm::StringRef, 3> all = {name};
    also.split(all, ',', -1, false);
    return all;
  }
};

/// What is separated by commas; `\,` is a comma within.
std::vector<std::string> splitList(llvm::StringRef text);
std::string joinList(llvm::ArrayRef<std::string> texts);

/// Between a member and its text.
template <class T> struct Codec;

template <> struct Codec<bool> {
  static constexpr llvm::StringRef type = "bool";
  static llvm::Error in(bool &value, llvm::StringRef text) {
    value = text.empty() || text == "1" || text == "true" || text == "True" || text == "TRUE";
    if (value || text == "0" || text == "false" || text == "False" || text == "FALSE")
      return llvm::Error::success();
    return makeError(" takes no value");
  }
  static std::string out(bool value) { return value ? "true" : "false"; }
};

template <class T>
requires std::is_arithmetic_v<T>
struct Codec<T> {
  static constexpr llvm::StringRef type = std::is_integral_v<T> ? "int" : "float";
  static llvm::Error in(T &value, llvm::StringRef text) {
    bool failed;
    if constexpr (std::is_integral_v<T>)
      failed = text.getAsInteger(0, value);
    else
      failed = !llvm::to_float(text, value);
    return failed ? makeError(": \"" + printable(text, 60) + "\" is not a number that it can be")
                  : llvm::Error::success();
  }
  static std::string out(T value) { // the shortest text that is this number
    char digits[64];
    return std::string(digits, std::to_chars(digits, digits + sizeof(digits), value).ptr);
  }
};

template <> struct Codec<std::string> {
  static constexpr llvm::StringRef type = "str";
  static llvm::Error in(std::string &value, llvm::StringRef text) {
    value = text.str();
    return llvm::Error::success();
  }
  static std::string out(const std::string &value) { return value; }
};

template <class E>
requires std::is_enum_v<E>
struct Codec<E> {
  static constexpr llvm::StringRef type = "";
  static llvm::Error in(E &value, llvm::StringRef text) {
    std::string names;
    for (const auto &choice : choicesOf<E>) {
      if (choice.name == text) {
        value = choice.value;
        return llvm::Error::success();
      }
      names += (names.empty() ? "" : ", ") + choice.name.str();
    }
    return makeError(": \"" + printable(text, 60) + "\" is none; there are " + names);
  }
  static std::string out(E value) {
    auto found = llvm::find_if(choicesOf<E>, [&](const auto &choice) { return choice.value == value; });
    return found == choicesOf<E>.end() ? "" : found->name.str();
  }
};

template <size_t N> struct Codec<std::array<std::string, N>> {
  static constexpr llvm::StringRef type = "Tuple[str, ...]";
  static llvm::Error in(std::array<std::string, N> &value, llvm::StringRef text) {
    std::vector<std::string> parts = splitList(text);
    if (parts.size() != N)
      return makeError(" needs " + llvm::Twine(N) + " values; --help shows examples");
    llvm::move(parts, value.begin());
    return llvm::Error::success();
  }
  static std::string out(const std::array<std::string, N> &value) { return joinList(value); }
};

/// Between a member of several texts, or of none, and these.
template <class T> struct Texts {
  using Element = T;
  static constexpr bool repeats = false, splits = false;
  static llvm::Error in(T &value, llvm::StringRef text) { return Codec<T>::in(value, text); }
  static std::vector<std::string> out(const T &value) { return {Codec<T>::out(value)}; }
};

template <class T> struct Texts<std::optional<T>> : Texts<T> {
  static llvm::Error in(std::optional<T> &value, llvm::StringRef text) { return Codec<T>::in(value.emplace(), text); }
  static std::vector<std::string> out(const std::optional<T> &value) {
    return value ? std::vector{Codec<T>::out(*value)} : std::vector<std::string>();
  }
};

template <class List>
requires std::is_base_of_v<std::vector<typename List::value_type>, List>
struct Texts<List> : Texts<typename List::value_type> {
  using T = typename List::value_type;
  static constexpr bool repeats = true, splits = std::is_same_v<List, std::vector<T>>;
  static llvm::Error in(List &value, llvm::StringRef text) {
    for (const std::string &part : splits ? splitList(text) : std::vector{text.str()})
      if (llvm::Error error = Codec<T>::in(value.emplace_back(), part))
        return error;
    return llvm::Error::success();
  }
  static std::vector<std::string> out(const List &value) {
    std::vector<std::string> texts;
    for (const T &one : value)
      texts.push_back(Codec<T>::out(one));
    return splits && !texts.empty() ? std::vector{joinList(texts)} : texts;
  }
};

template <class> struct MemberOf;
template <class C, class T> struct MemberOf<T C::*> {
  using Class = C;
  using Type = T;
};
template <class T> constexpr unsigned wordCount = 1;
template <size_t N> constexpr unsigned wordCount<std::array<std::string, N>> = N;

/// The row of a member; `Inner` is a member of that, where it is a struct that several commands share.
template <auto Outer, auto... Inner>
constexpr Option option(llvm::StringRef name, llvm::StringRef value, llvm::StringRef help, Option row = {}) {
  using R = typename MemberOf<decltype(Outer)>::Class;
  using T = std::remove_cvref_t<decltype(((std::declval<R &>().*Outer).*....*Inner))>;
  using Element = typename Texts<T>::Element;
  row.name = name;
  row.value = value;
  row.help = help;
  row.flag = std::is_same_v<T, bool>;
  row.repeats = Texts<T>::repeats;
  row.splits = Texts<T>::splits;
  row.words = row.flag ? 0 : wordCount<Element>;
  row.type = Codec<Element>::type;
  row.setText = [](const Option &, void *request, llvm::StringRef text) {
    return Texts<T>::in(((static_cast<R *>(request)->*Outer).*....*Inner), text);
  };
  row.getTexts = [](const Option &, const void *request) {
    return Texts<T>::out(((static_cast<const R *>(request)->*Outer).*....*Inner));
  };
  if constexpr (std::is_enum_v<Element>)
    row.choices = [] {
      std::vector<Choice> choices;
      for (const ChoiceOf<Element> &choice : choicesOf<Element>)
        choices.push_back({choice.name, choice.help});
      return choices;
    };
  return row;
}

/// Of what has no value.
template <auto Outer, auto... Inner>
constexpr Option option(llvm::StringRef name, llvm::StringRef help, Option row = {}) {
  return option<Outer, Inner...>(name, "", help, row);
}

/// The rows of several groups, one behind the other.
template <size_t... N> constexpr auto joinRows(const std::array<Option, N> &...groups) {
  std::array<Option, (N + ...)> all;
  auto *at = all.begin();
  ((at = std::copy(groups.begin(), groups.end(), at)), ...);
  return all;
}

/// The row of a switch that is an entry of a map, for switches that a table lists: on, off, or not mentioned.
template <auto Flags> Option flagOption(llvm::StringRef name, llvm::StringRef help, Option row = {}) {
  using R = typename MemberOf<decltype(Flags)>::Class;
  row.name = name;
  row.help = help;
  row.flag = true;
  row.words = 0;
  row.type = Codec<bool>::type;
  row.setText = [](const Option &row, void *request, llvm::StringRef text) {
    return Codec<bool>::in((static_cast<R *>(request)->*Flags)[row.name.str()], text);
  };
  row.getTexts = [](const Option &row, const void *request) {
    const auto &flags = static_cast<const R *>(request)->*Flags;
    auto found = flags.find(row.name.str());
    return found == flags.end() ? std::vector<std::string>() : std::vector{Codec<bool>::out(found->second)};
  };
  return row;
}

using Options = llvm::ArrayRef<Option>;

/// Null: there is none of that name.
const Option *findOption(Options options, llvm::StringRef name);
/// Sets what the words of a command line ask for: `--a b`, `--a=b`, `-a`, `-O1`, `--flag=false`, lists with commas;
/// behind `--` are no options. What is no option goes to `arguments`.
llvm::Error parse(Options options, void *request, llvm::ArrayRef<std::string> words,
                  std::vector<std::string> &arguments);
/// The words that make `request` of `fresh`.
std::vector<std::string> wordsOf(Options options, const void *request, const void *fresh);

} // namespace origo::commands
