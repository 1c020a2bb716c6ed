#include "tools/OptionTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace origo::tools {

static const char *const kindNames[] = {"flag", "value", "optional", "prefix"};

void printOptionTable(llvm::ArrayRef<OptionRow> rows) {
  for (const OptionRow &row : rows) {
    llvm::outs() << "option\t" << row.name << '\t' << kindNames[row.kind] << '\t' << row.words << '\t' << row.value
                 << '\t' << row.category << '\t' << row.help << '\n';
    for (const auto &[name, help] : row.choices)
      llvm::outs() << "    =" << name << " - " << help << '\n';
  }
}

std::vector<OptionRow> rowsOf(commands::Options options) {
  std::vector<OptionRow> rows;
  for (const commands::Option &option : options) {
    OptionRow &row = rows.emplace_back(OptionRow{option.flag     ? OptionRow::Flag
                                                 : option.prefix ? OptionRow::Prefix
                                                 : option.bare   ? OptionRow::Optional
                                                                 : OptionRow::Value,
                                                 option.words,
                                                 option.name.str(),
                                                 option.value.str(),
                                                 option.category.str(),
                                                 option.help.str(),
                                                 {}});
    if (option.choices)
      for (const commands::Choice &choice : option.choices())
        row.choices.push_back({choice.name.str(), choice.help.str()});
    const OptionRow same = row; // which grows out of its place
    auto names = option.names();
    for (llvm::StringRef other : llvm::drop_begin(names)) {
      rows.push_back(same);
      rows.back().name = other.str();
      rows.back().help = "Same as " + same.spelled();
    }
  }
  llvm::sort(rows, [](const OptionRow &a, const OptionRow &b) { return a.name < b.name; });
  return rows;
}

static std::string optionLine(const OptionRow &row) {
  std::string left = "  " + row.spelled();
  std::string value = "<" + (row.value.empty() ? "value" : row.value) + ">";
  switch (row.kind) {
  case OptionRow::Flag:
    break;
  case OptionRow::Value:
    left += row.words > 1 ? std::string(" ") + std::to_string(row.words) + " words" : "=" + value;
    break;
  case OptionRow::Optional:
    left += "[=" + value + "]";
    break;
  case OptionRow::Prefix:
    left += value;
    break;
  }
  constexpr size_t column = 34;
  std::string text = left +
                     (left.size() < column ? std::string(column - left.size(), ' ') : "\n" + std::string(column, ' ')) +
                     "  " + row.help + "\n";
  for (const auto &[name, help] : row.choices)
    text += std::string(column + 4, ' ') + name + (help.empty() ? "" : ": " + help) + "\n";
  return text;
}

std::string helpOf(llvm::ArrayRef<OptionRow> rows) {
  std::vector<std::string> categories;
  for (const OptionRow &row : rows)
    if (!llvm::is_contained(categories, row.category))
      categories.push_back(row.category);
  std::string text;
  for (const std::string &name : categories) {
    text += "\n" + (name.empty() ? "Options of this command" : name) + ":\n";
    for (const OptionRow &row : rows)
      if (row.category == name)
        text += optionLine(row);
  }
  return text;
}

const OptionRow *findOption(llvm::ArrayRef<OptionRow> options, llvm::StringRef name) {
  auto found = llvm::find_if(options, [&](const OptionRow &row) { return row.name == name; });
  return found == options.end() ? nullptr : &*found;
}

std::vector<Word> takeApart(llvm::ArrayRef<std::string> words, llvm::ArrayRef<OptionRow> options) {
  std::vector<Word> parts;
  bool onlyArguments = false;
  for (size_t i = 0; i < words.size(); ++i) {
    Word &part = parts.emplace_back();
    part.text = words[i];
    llvm::StringRef text = words[i];
    if (onlyArguments || !text.starts_with("-") || text == "-")
      continue;
    if (text == "--") {
      onlyArguments = true;
      parts.pop_back();
      continue;
    }
    text = text.drop_front(text.starts_with("--") ? 2 : 1);
    auto [name, value] = text.split('=');
    part.option = name.str();
    part.value = value.str();
    const OptionRow *row = findOption(options, name);
    if (row && row->kind == OptionRow::Value) {
      unsigned rest = row->words - (text.contains('=') ? 1 : 0);
      while (rest-- && i + 1 < words.size())
        part.more.push_back(words[++i]);
      if (!text.contains('=') && !part.more.empty())
        part.value = part.more.front();
    }
  }
  return parts;
}

} // namespace origo::tools
