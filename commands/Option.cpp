#include "commands/Option.h"

namespace origo::commands {

std::vector<std::string> splitList(llvm::StringRef text) {
  std::vector<std::string> parts(1);
  for (size_t i = 0; i < text.size(); ++i)
    if (text[i] == ',')
      parts.emplace_back();
    else
      parts.back() += text.substr(i).starts_with("\\,") ? text[++i] : text[i];
  return parts;
}

std::string joinList(llvm::ArrayRef<std::string> texts) {
  std::string all;
  for (const std::string &text : texts) {
    all += &text == texts.begin() ? "" : ",";
    for (char c : text)
      all += c == ',' ? std::string("\\,") : std::string(1, c);
  }
  return all;
}

const Option *findOption(Options options, llvm::StringRef name) {
  const auto *found = llvm::find_if(options, [&](const Option &row) { return llvm::is_contained(row.names(), name); });
  return found == options.end() ? nullptr : found;
}

static llvm::Error unknown(Options options, llvm::StringRef word) {
  llvm::StringRef name = word.split('=').first, nearest;
  unsigned least = 4;
  for (const Option &row : options)
    for (llvm::StringRef known : row.names())
      if (unsigned distance = name.ltrim('-').edit_distance(known, true, least); distance < least)
        least = distance, nearest = known;
  return makeError("there is no option " + printable(name, 60) + "; " +
                   (nearest.empty() ? "--help lists them" : "did you mean --" + nearest + "?"));
}

/// The text of an option whose value is in the words from `next` on.
static llvm::Expected<std::string> textOf(const Option &row, std::optional<llvm::StringRef> value,
                                          llvm::ArrayRef<std::string> words, size_t &next) {
  if (row.flag || row.bare)
    return value.value_or("").str();
  std::vector<std::string> texts;
  if (value)
    texts.push_back(value->str());
  while (texts.size() < row.words && next < words.size())
    texts.push_back(words[next++]);
  if (texts.size() < row.words)
    return makeError(" needs a value; --help shows examples");
  return row.words == 1 ? texts.front() : joinList(texts);
}

llvm::Error parse(Options options, void *request, llvm::ArrayRef<std::string> words,
                  std::vector<std::string> &arguments) {
  for (size_t i = 0; i < words.size();) {
    llvm::StringRef word = words[i++], text = word;
    if (word == "--") {
      arguments.insert(arguments.end(), words.begin() + i, words.end());
      break;
    }
    if (!text.consume_front("-") || text.empty()) {
      arguments.push_back(word.str());
      continue;
    }
    text.consume_front("-");
    llvm::StringRef name = text.split('=').first, rest = text.split('=').second;
    std::optional<llvm::StringRef> given = text.contains('=') ? std::optional(rest) : std::nullopt;
    const Option *row = findOption(options, name);
    if (!row) {
      row = llvm::find_if(options, [&](const Option &row) { return row.prefix && text.starts_with(row.name); });
      if (row == options.end())
        return unknown(options, word);
      given = text.drop_front(row->name.size());
      name = row->name;
    }
    auto about = [&](llvm::Error error) {
      return makeError((name.size() == 1 ? "-" : "--") + name + llvm::toString(std::move(error)));
    };
    auto value = textOf(*row, given, words, i);
    if (!value)
      return about(value.takeError());
    if (llvm::Error error = row->set(request, *value))
      return about(std::move(error));
  }
  return llvm::Error::success();
}

std::vector<std::string> wordsOf(Options options, const void *request, const void *fresh) {
  std::vector<std::string> words;
  for (const Option &row : options) {
    std::vector<std::string> texts = row.get(request);
    if (texts == row.get(fresh))
      continue;
    for (const std::string &text : texts)
      if (row.words > 1) {
        words.push_back(row.spelled());
        llvm::append_range(words, splitList(text));
      } else {
        words.push_back(row.flag && text == "true" ? row.spelled() : row.spelled() + (row.prefix ? "" : "=") + text);
      }
  }
  return words;
}

} // namespace origo::commands
