#include "layers.h"

#include <algorithm>
#include <cstring>
#include <map>

using namespace origo::origin;

std::string clean(std::string_view name) {
  std::string result(name);
  for (char &c : result)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && !std::strchr("/.-", c))
      c = '_';
  return result;
}

//===---------------------------------------------------------------------------------------------------------------===//
// Comments
//===---------------------------------------------------------------------------------------------------------------===//

std::string sourceOperator(const OriginMap &map, uint32_t id) {
  const SourceOperator *op = map.source.findOperator(id);
  return number(id) + (op ? " " + clean(op->op) + " " + clean(map.source.nameOf(*op)) : " of an unknown source");
}

std::string sourceTensor(const OriginMap &map, uint32_t id) {
  const SourceTensor *tensor = map.source.findTensor(id);
  return number(id) + (tensor ? " " + clean(tensor->name) : " of an unknown source");
}

/// The innermost scope that all of these source operators are in; empty: there is none.
static std::string commonScope(const OriginMap &map, const std::vector<uint32_t> &ids) {
  std::vector<std::string> common;
  for (size_t i = 0; i < ids.size(); ++i) {
    const SourceOperator *op = map.source.findOperator(ids[i]);
    std::vector<std::string> scopes = scopesOfName(op ? map.source.nameOf(*op) : "");
    if (i == 0)
      common = scopes;
    common.resize(std::min(common.size(), scopes.size()));
    while (!common.empty() && common.back() != scopes[common.size() - 1])
      common.pop_back();
  }
  return common.empty() ? "" : common.back();
}

std::string originLines(const OriginMap &map, const OperatorRow &row) {
  std::string result;
  for (uint32_t id : row.origins)
    result += "/* origin " + sourceOperator(map, id) + " */\n";
  if (std::string scope = commonScope(map, row.origins); !scope.empty())
    result += "/* scope " + clean(scope) + " */\n";
  if (!row.syntheticReason.empty())
    result += "/* nobody wrote it: " + clean(row.syntheticReason) + " */\n";
  for (const Word &pass : row.passes)
    result += "/* pass " + clean(pass) + " */\n";
  return result;
}

std::string tensorLine(const OriginMap &map, const TensorRow *row) {
  if (!row)
    return "";
  std::string text;
  for (const MapRelation &relation : row->relations)
    text += (relation.exact ? " is " : " near ") + sourceTensor(map, relation.tensor) +
            (relation.steps.empty() ? "" : " transformed") + ",";
  if (row->relations.empty())
    for (uint32_t id : row->tensors) // of a constant
      text += " from " + sourceTensor(map, id) + ",";
  for (uint32_t id : row->operators)
    text += " with " + sourceOperator(map, id) + " worked in,";
  if (!text.empty())
    text.back() = ' ';
  return text.empty() ? "" : "/*" + text + "*/\n";
}

static std::string goneWords(const MapLedgerRow &gone) { return clean(gone.fate) + " by " + clean(gone.pass); }

std::string goneLines(const OriginReader &reader) {
  std::string result;
  for (uint32_t id = 0; id < reader.map().source.operatorCount(); ++id)
    if (const MapLedgerRow *gone = reader.whereIsOperator(id).gone)
      result += "/* gone " + sourceOperator(reader.map(), id) + ": " + goneWords(*gone) + " */\n";
  return result;
}

//===---------------------------------------------------------------------------------------------------------------===//
// Names
//===---------------------------------------------------------------------------------------------------------------===//

int64_t principal(const OriginMap &map, const OperatorRow &row) {
  int64_t best = -1;
  auto rank = [&](uint32_t id) {
    const SourceOperator *op = map.source.findOperator(id);
    uint64_t macs = map.source.costOf(id).macs;
    return std::pair(op && op->op == row.op, macs == SourceCost::unknown ? 0 : macs);
  };
  for (uint32_t id : row.origins)
    if (best < 0 || rank(id) > rank(static_cast<uint32_t>(best)))
      best = id;
  return best;
}

/// How many bytes the well-formed UTF-8 character at the beginning of `text` has; 0: there is none, or it is one that
/// controls.
static size_t character(std::string_view text) {
  auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  size_t length = byte(0) < 0x80                      ? 1
                  : byte(0) >= 0xc2 && byte(0) < 0xe0 ? 2
                  : byte(0) >= 0xe0 && byte(0) < 0xf0 ? 3
                  : byte(0) >= 0xf0 && byte(0) < 0xf5 ? 4
                                                      : 0;
  if (length == 0 || length > text.size() || byte(0) < 0x20 || byte(0) == 0x7f)
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  if (length == 2 && byte(0) == 0xc2 && byte(1) < 0xa0) // controls of Latin-1
    return 0;
  if (length == 3 && ((byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) >= 0xa0)))
    return 0;
  if (length == 3 && byte(0) == 0xe2 &&
      (byte(1) == 0x80 || byte(1) == 0x81)) // marks that turn the direction of text around
    return 0;
  if (length == 4 && ((byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) >= 0x90)))
    return 0;
  return length;
}

/// GNU as takes all in quotes but quotes and backslashes; debuggers quote with apostrophes. The rest would change
/// lines.
static std::string harmless(std::string_view name) {
  std::string result;
  while (!name.empty() && result.size() < 200) {
    size_t length = character(name);
    if (length == 0 || std::strchr("\"\\'", name[0])) {
      result += '?';
      length = 1;
    } else {
      result += name.substr(0, length);
    }
    name.remove_prefix(length);
  }
  return result + (name.empty() ? "" : "...");
}

std::string Symbols::of(std::string_view name) {
  std::string symbol = harmless(name);
  // What an assembler takes for a register, a section or a number, a demangler for C++, the linker for something else,
  // and what the generated code calls things, or the compiler calls by itself.
  static const std::set<std::string_view> others = {"main", "memcpy", "memmove", "memset", "memcmp", "sqrtf", "fabsf"};
  bool isOther = symbol.empty() || std::strchr("%._$@ ", symbol[0]) || others.count(symbol) ||
                 symbol.starts_with("net_") || symbol.starts_with("tensor_") || symbol.starts_with("arena");
  if (isOther)
    symbol = "layer " + symbol;
  std::string unique = symbol;
  while (!taken.insert(unique).second)
    unique = symbol + "#" + number(++last.try_emplace(symbol, 1).first->second);
  return unique;
}

static std::string escaped(std::string_view bytes, const char *format, const char *others) {
  std::string result;
  for (char c : bytes) {
    if (c >= ' ' && c <= '~' && !std::strchr(others, c)) {
      result += c;
      continue;
    }
    char text[8];
    std::snprintf(text, sizeof text, format, static_cast<unsigned char>(c));
    result += text;
  }
  return result;
}

std::string cString(std::string_view bytes) { return "\"" + escaped(bytes, "\\%03o", "\"\\?") + "\""; }

std::string jsonString(std::string_view text) {
  std::string result = "\"";
  for (size_t i = 0; i < text.size();) {
    size_t length = std::max<size_t>(1, character(text.substr(i)));
    std::string_view one = text.substr(i, length);
    result += character(one) == 0 ? "?" : one == "\"" || one == "\\" ? "\\" + std::string(one) : std::string(one);
    i += length;
  }
  return result + "\"";
}

//===---------------------------------------------------------------------------------------------------------------===//
// Files beside the code
//===---------------------------------------------------------------------------------------------------------------===//

std::string listing(const OriginMap &map) {
  auto name = [&](int32_t tensor) {
    const SourceTensor *found = tensor < 0 ? nullptr : map.source.findTensor(static_cast<uint32_t>(tensor));
    return tensor < 0 ? "_" : "%" + (found && !found->name.empty() ? harmless(found->name) : number(tensor));
  };
  std::string text;
  for (uint32_t id = 0; id < map.source.operatorCount(); ++id) {
    const SourceOperator *op = map.source.findOperator(id);
    std::string results, operands;
    for (int32_t tensor : op->tensors)
      results += (results.empty() ? "" : ", ") + name(tensor);
    for (int32_t tensor : map.source.operandsOf(id))
      operands += (operands.empty() ? "" : ", ") + name(tensor);
    text += results + " = " + clean(op->op) + "(" + operands + ")\n";
  }
  return text;
}

static std::string pythonString(std::string_view bytes) { return "b'" + escaped(bytes, "\\x%02x", "'\\") + "'"; }

std::string gdbScript(const OriginReader &reader, const std::vector<Kernel> &kernels, const std::string &function) {
  const OriginMap &map = reader.map();
  std::map<std::pair<uint32_t, uint32_t>, size_t> numbers;
  for (size_t k = 0; k < kernels.size(); ++k)
    numbers[{kernels[k].subgraph, kernels[k].index}] = k;
  std::string text = "# Generated by example_backend. gdb -x THIS PROGRAM; then: layer NAME, layers.\n"
                     "import gdb\n\n"
                     "# By number of the kernel: symbol, type, line.\nKERNELS = [\n";
  for (const Kernel &kernel : kernels)
    text += "    (" + pythonString(kernel.symbol) + ", " + pythonString(clean(kernel.row->op)) + ", " +
            pythonString(kernel.line) + "),\n";
  text += "]\n# By number of the source operator: name, type, kernels that do its work, what it is if it has "
          "none.\nLAYERS = [\n";
  for (uint32_t id = 0; id < map.source.operatorCount(); ++id) {
    const SourceOperator *op = map.source.findOperator(id);
    OperatorFate fate = reader.whereIsOperator(id);
    std::string list, words;
    for (const Place &place : fate.operators)
      if (auto found = numbers.find({place.subgraph, place.index}); found != numbers.end())
        list += (list.empty() ? "" : ", ") + number(found->second);
    if (fate.gone)
      words = "gone: " + goneWords(*fate.gone);
    else if (list.empty() && !fate.constants.empty())
      words = "worked into a constant";
    text += "    (" + pythonString(map.source.nameOf(*op)) + ", " + pythonString(clean(op->op)) + ", [" + list + "], " +
            pythonString(words) + "),\n";
  }
  return text + "]\nFUNCTION = '" + function + R"('


def shown(name):
    """Names are untrusted: nothing that controls a terminal comes through."""
    return ''.join(c if c.isprintable() else '?' for c in name.decode('utf-8', 'replace'))


def stop_at(kernel):
    # By the name in C, where gdb takes that, by the line, or by the symbol.
    symbol, _, line = KERNELS[kernel]
    for place in (FUNCTION + str(kernel), shown(line), "'" + shown(symbol) + "'"):
        try:
            if place:
                gdb.decode_line(place) # else gdb would wait for a library that has it
                return gdb.Breakpoint(place)
        except gdb.error:
            pass
    print('the program has no symbols')


class Layer(gdb.Command):
    """layer NAME: what became of a layer of the source model, and a breakpoint where its work is done.

NAME may be the number of the source operator."""

    def __init__(self):
        super().__init__('layer', gdb.COMMAND_BREAKPOINTS)

    def complete(self, text, word):
        return [shown(name)[len(text) - len(word):] for name, _, _, _ in LAYERS if shown(name).startswith(text)]

    def invoke(self, argument, from_tty):
        wanted = argument.strip()
        found = [i for i, layer in enumerate(LAYERS) if shown(layer[0]) == wanted]
        if not found and wanted.isascii() and wanted.isdigit() and int(wanted) < len(LAYERS):
            found = [int(wanted)]
        if not found:
            raise gdb.GdbError('there is no layer ' + wanted)
        for i in found:
            name, kind, kernels, fate = LAYERS[i]
            own = shown(name) + ' (' + kind.decode() + ', operator ' + str(i) + ' of the source) '
            if not kernels:
                print(own + 'is ' + (fate.decode() or 'nowhere'))
            for kernel in kernels:
                symbol = KERNELS[kernel][0]
                others = [shown(other[0]) for j, other in enumerate(LAYERS) if j != i and kernel in other[2]]
                if symbol == name:
                    print(own + 'is a function of its own' + (', which does ' + ', '.join(others) + ' as well' if others else ''))
                else:
                    print(own + ('was fused into ' if others else 'is ') + KERNELS[kernel][1].decode() + ' ' + shown(symbol))
                stop_at(kernel)


class Layers(gdb.Command):
    """layers: the layers of the source model, and the functions that do their work."""

    def __init__(self):
        super().__init__('layers', gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        for i, (name, kind, kernels, fate) in enumerate(LAYERS):
            where = ', '.join(shown(KERNELS[kernel][0]) for kernel in kernels) or fate.decode()
            print(str(i), kind.decode(), shown(name), '->', where)


Layer()
Layers()
)";
}

std::string kernelTable(const OriginMap &map, const std::vector<Kernel> &kernels) {
  std::string table, fingerprint;
  for (size_t k = 0; k < kernels.size(); ++k)
    table += (k ? ",\n  " : "\n  ") + ("{\"kernel\": " + number(k)) + ", \"name\": " + jsonString(kernels[k].symbol) +
             ", \"offset\": " + number(k) + ", \"subgraph\": " + number(kernels[k].subgraph) + ", \"operators\": [" +
             number(kernels[k].index) + "]}";
  for (uint8_t byte : map.target.fingerprint) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    fingerprint += digits;
  }
  return "{\"format\": \"origo.kernels\", \"version\": 1,\n \"fingerprint\": \"sha256:" + fingerprint +
         "\",\n \"kernels\": [" + table + "]}\n";
}
