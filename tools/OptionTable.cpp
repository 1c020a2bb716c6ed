#include "tools/OptionTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

namespace origo::tools {

Option flagRow(llvm::StringRef name, llvm::StringRef help, llvm::StringRef category) {
  return {.name = name, .help = help, .category = category, .flag = true, .words = 0};
}

Option valueRow(llvm::StringRef name, llvm::StringRef value, llvm::StringRef help, llvm::StringRef category) {
  return {.name = name, .value = value, .help = help, .category = category};
}

void printOptionTable(commands::Options rows) {
  for (const Option &row : rows) {
    llvm::outs() << "option\t" << row.name << '\t'
                 << (row.flag     ? "flag"
                     : row.prefix ? "prefix"
                     : row.bare   ? "optional"
                                  : "value")
                 << '\t' << row.words << '\t' << row.value << '\t' << row.category << '\t' << row.help << '\n';
    for (const auto &[name, help] : valuesOf(row))
      llvm::outs() << "    =" << name << " - " << help << '\n';
  }
}

std::vector<Option> rowsOf(commands::Options options) {
  static std::set<std::string> texts; // that rows refer to
  std::vector<Option> rows;
  for (Option row : options) {
    auto names = row.names();
    row.also = {};
    rows.push_back(row);
    row.help = *texts.insert("Same as " + row.spelled()).first;
    for (llvm::StringRef other : llvm::drop_begin(names)) {
      row.name = other;
      rows.push_back(row);
    }
  }
  llvm::sort(rows, [](const Option &a, const Option &b) { return a.name < b.name; });
  return rows;
}

static std::string optionLine(const Option &row) {
  std::string left = "  " + row.spelled();
  std::string value = "<" + (row.value.empty() ? "value" : row.value.str()) + ">";
  if (row.prefix)
    left += value;
  else if (row.bare)
    left += "[=" + value + "]";
  else if (!row.flag)
    left += row.words > 1 ? std::string(" ") + std::to_string(row.words) + " words" : "=" + value;
  constexpr size_t column = 34;
  std::string text = left +
                     (left.size() < column ? std::string(column - left.size(), ' ') : "\n" + std::string(column, ' ')) +
                     "  " + row.help.str() + "\n";
  for (const auto &[name, help] : valuesOf(row))
    text += std::string(column + 4, ' ') + name.str() + (help.empty() ? "" : ": " + help.str()) + "\n";
  return text;
}

std::string helpOf(commands::Options rows) {
  std::vector<llvm::StringRef> categories;
  for (const Option &row : rows)
    if (!llvm::is_contained(categories, row.category))
      categories.push_back(row.category);
  std::string text;
  for (llvm::StringRef name : categories) {
    text += ("\n" + (name.empty() ? "Options of this command" : name) + ":\n").str();
    for (const Option &row : rows)
      if (row.category == name)
        text += optionLine(row);
  }
  return text;
}

std::vector<Word> takeApart(llvm::ArrayRef<std::string> words, commands::Options options) {
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
    const Option *row = findOption(options, name);
    if (row && takesWords(*row)) {
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
