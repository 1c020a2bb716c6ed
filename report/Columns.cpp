#include "report/Columns.h"

#include "ir/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Unicode.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

int report::columnWidth(StringRef text) {
  size_t columns = 0;
  do { // of a million rows, nearly all is plain, but for what makes names short
    size_t plain = 0;
    while (plain < text.size() && text[plain] >= ' ' && text[plain] < 0x7f)
      ++plain;
    columns += plain + 1;
    text = text.drop_front(plain);
  } while (text.consume_front("…"));
  int rest = llvm::sys::unicode::columnWidthUTF8(text);
  return static_cast<int>(columns - 1 + (rest < 0 ? text.size() : static_cast<size_t>(rest)));
}

std::string report::shortName(StringRef name, size_t limit) {
  if (name.size() <= limit)
    return printable(name, ~size_t{0});
  size_t head = limit / 3, tail = name.size() - (limit - head);
  // Not between the bytes of a character.
  auto inside = [&](size_t at) { return (static_cast<unsigned char>(name[at]) & 0xc0) == 0x80; };
  while (head > 0 && inside(head))
    --head;
  while (tail < name.size() && inside(tail))
    ++tail;
  return printable(name.take_front(head), ~size_t{0}) + "…" + printable(name.drop_front(tail), ~size_t{0});
}

void report::printColumns(const Cells &head, size_t count, llvm::function_ref<Cells(size_t)> row, llvm::raw_ostream &os,
                          llvm::ArrayRef<size_t> rightAligned) {
  std::vector<int> widths;
  for (const std::string &cell : head)
    widths.push_back(columnWidth(cell));
  for (size_t i = 0; i < count; ++i)
    for (auto [column, cell] : llvm::zip(widths, row(i)))
      column = std::max(column, columnWidth(cell));
  std::string line;
  auto print = [&](const Cells &cells) {
    line.clear();
    for (size_t i = 0; i < cells.size(); ++i) {
      auto pad = static_cast<size_t>(widths[i] - columnWidth(cells[i]));
      bool isRight = llvm::is_contained(rightAligned, i);
      line.append(isRight ? pad : 0, ' ');
      line += cells[i];
      line.append((isRight ? 0 : pad) + 2, ' ');
    }
    os << StringRef(line).rtrim(' ') << '\n';
  };
  print(head);
  for (size_t i = 0; i < count; ++i)
    print(row(i));
}

std::string report::csvText(StringRef text) {
  std::string result = "\"";
  if (!text.empty() && StringRef("=+-@\t\r").contains(text.front()))
    result += '\'';
  for (char c : printable(text, ~size_t{0}))
    result.append(c == '"' ? 2 : 1, c);
  return result + '"';
}
