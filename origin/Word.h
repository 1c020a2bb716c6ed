#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace origo::origin {

/// A string of a small vocabulary (the kind of an operator, a fate, a pass), kept once for the process, so that each of
/// a million rows pays a pointer for it. Not freed before the process ends. Threads may make words at the same time.
class Word {
public:
  Word() = default; ///< the empty one
  template <std::convertible_to<std::string_view> Text>
  requires(!std::same_as<Text, Word>) Word(const Text &text) : text(find(text)) {}

  const std::string &str() const { return text ? *text : none; }
  operator std::string_view() const { return str(); }
  /// Any other view of characters.
  template <std::constructible_from<const char *, size_t> View>
  requires(!std::same_as<View, std::string>) operator View() const { return View(str().data(), str().size()); }
  const char *c_str() const { return str().c_str(); }
  bool empty() const { return !text; }
  bool operator==(const Word &) const = default;
  friend bool operator==(const Word &word, const std::string &other) { return word.str() == other; }
  friend bool operator==(const Word &word, const char *other) { return word.str() == other; }
  friend std::string operator+(const std::string &text, const Word &word) { return text + word.str(); }

private:
  const std::string *text = nullptr;
  inline static const std::string none;
  static const std::string *find(std::string_view text);
};

} // namespace origo::origin
