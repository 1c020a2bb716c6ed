#include "quantize/Parts.h"

#include "quantize/Constraints.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/GlobPattern.h"

namespace origo::quantize {

using llvm::StringRef;

/// A name, and the names that a converter has joined in it.
static void forEachName(StringRef name, llvm::function_ref<void(StringRef)> visit) {
  visit(name);
  while (name.contains(';')) {
    auto [first, rest] = name.split(';');
    visit(first);
    name = rest;
    if (!name.contains(';'))
      visit(name);
  }
}

void Parts::addName(uint32_t number, StringRef name) {
  if (name.empty() || llvm::is_contained(all[number].names, name))
    return;
  all[number].names.push_back(name);
  forEachName(name, [&](StringRef one) {
    if (one.empty())
      return;
    Numbers &list = byName[one];
    if (list.empty() || list.back() != number)
      list.push_back(number);
    sorted.emplace_back(one, number);
  });
}

Parts::Parts(const Model &model, const SourceLayers &sources) {
  // An operator may stand for as much as all of the source, and so may each: what a model may ask for is bounded.
  uint64_t left = 1'000'000;
  constexpr unsigned mostOfOne = 256;
  for (const auto &graph : model.subgraphs) {
    outputs.insert(graph->outputs.begin(), graph->outputs.end());
    for (const Operator &op : graph->operators) {
      auto number = static_cast<uint32_t>(all.size());
      all.push_back({&op, graph->index});
      numbers[&op] = number;
      for (const Value *result : op.results())
        if (result)
          addName(number, result->name.text());
      byKind[op.opName()].push_back(number);
      if (!op.customCode().empty())
        byKind[op.customCode().upper()].push_back(number);
      if (op.code == BuiltinOperator::TRANSPOSE_CONV)
        byKind["CONV_2D_TRANSPOSE"].push_back(number); // what recipes call it
      unsigned met = 0;
      for (auto id = model.sets.next(op.origins, 0); id && *id < sources.size() && left > 0 && met < mostOfOne;
           id = model.sets.next(op.origins, *id + 1), ++met, --left) {
        for (StringRef name : sources[*id].names)
          addName(number, name);
        auto add = [&](Numbers &list) {
          if (list.empty() || list.back() != number)
            list.push_back(number);
        };
        for (StringRef scope : sources[*id].scopes)
          add(byScope[scope]);
        add(bySourceKind[sources[*id].kind]);
      }
    }
  }
  llvm::sort(sorted);
}

Parts::Numbers Parts::ofKind(StringRef kind) const {
  for (const auto *kinds : {&byKind, &bySourceKind})
    if (auto found = kinds->find(kind.upper()); found != kinds->end())
      return found->second;
  return {};
}

Parts::Numbers Parts::ofScope(StringRef scope) const {
  std::string begin = scope.rtrim('/').str() + "/";
  Numbers part;
  auto at = llvm::lower_bound(sorted, std::pair(StringRef(begin), uint32_t(0)));
  for (; at != sorted.end() && at->first.starts_with(begin); ++at)
    part.push_back(at->second);
  StringRef name = scope.rtrim('/');
  if (auto known = byScope.find(name); known != byScope.end())
    part.insert(part.end(), known->second.begin(), known->second.end());
  if (auto own = byName.find(name); !part.empty() && own != byName.end())
    part.insert(part.end(), own->second.begin(), own->second.end());
  llvm::sort(part);
  part.erase(std::unique(part.begin(), part.end()), part.end());
  return part;
}

Parts::Numbers Parts::ofGlob(StringRef glob) const {
  Numbers part;
  auto pattern = llvm::GlobPattern::create(glob);
  if (!pattern) {
    llvm::consumeError(pattern.takeError());
    return part;
  }
  for (auto [i, entry] : llvm::enumerate(all))
    for (StringRef name : entry.names) {
      bool matches = false;
      forEachName(name, [&](StringRef one) { matches |= pattern->match(one); });
      if (!matches)
        continue;
      part.push_back(static_cast<uint32_t>(i));
      break;
    }
  return part;
}

llvm::Expected<Parts::Numbers> Parts::ofExpression(StringRef python) {
  auto expression = Expression::compile(python);
  if (!expression)
    return expression.takeError();
  Numbers part;
  for (auto [i, entry] : llvm::enumerate(all))
    for (StringRef name : entry.names) {
      auto found = expression->isIn(name, budget);
      if (!found)
        return found.takeError();
      if (!*found)
        continue;
      part.push_back(static_cast<uint32_t>(i));
      break;
    }
  return part;
}

Parts::Numbers Parts::ofNumber(StringRef text) const {
  int64_t number = 0;
  if (text.getAsInteger(10, number))
    return {};
  auto count = llvm::count_if(all, [](const Entry &entry) { return entry.subgraph == 0; });
  number = number < 0 ? number + count : number;
  return number >= 0 && number < count ? Numbers{static_cast<uint32_t>(number)} : Numbers();
}

/// Of a part, what reads from outside of it, or what is read there.
Parts::Numbers Parts::atBorder(const Numbers &part, bool reads) const {
  auto isInside = [&](const Operator *op) {
    auto found = op ? numbers.find(op) : numbers.end();
    return found != numbers.end() && llvm::binary_search(part, found->second);
  };
  Numbers border;
  for (uint32_t number : part) {
    const Operator &op = *all[number].op;
    bool isBorder = false;
    if (reads) {
      for (unsigned i = 0; i < op.numOperands(); ++i)
        if (const Value *value = op.operand(i); value && !value->isConstant() && !isInside(value->producer()))
          isBorder = true;
    } else {
      for (const Value *result : op.results()) {
        if (!result)
          continue;
        isBorder |= outputs.contains(result);
        result->forEachUse([&](const Use &use) { isBorder |= !isInside(use.user()); });
      }
    }
    if (isBorder)
      border.push_back(number);
  }
  return border;
}

llvm::Expected<Parts::Numbers> Parts::ofWeights(StringRef text, bool first) const {
  unsigned count = 0;
  if (text.getAsInteger(10, count) || count == 0)
    return makeError("\"" + printable(text, 60) + "\" is not a number of layers");
  Numbers part;
  for (size_t begin = 0, end; begin < all.size(); begin = end) {
    Numbers heavy;
    for (end = begin; end < all.size() && all[end].subgraph == all[begin].subgraph; ++end)
      if (weightsOf(*all[end].op))
        heavy.push_back(static_cast<uint32_t>(end));
    if (heavy.empty())
      continue;
    size_t from = first ? begin : heavy[heavy.size() - std::min<size_t>(count, heavy.size())];
    size_t to = first ? heavy[std::min<size_t>(count, heavy.size()) - 1] + 1 : end;
    for (size_t i = from; i < to; ++i)
      part.push_back(static_cast<uint32_t>(i));
  }
  if (part.empty())
    return makeError("no operator has weights");
  return part;
}

llvm::Expected<Parts::Numbers> Parts::ofRange(StringRef from, StringRef to) {
  if (from.empty() && to.empty())
    return makeError("\"..\" has neither a begin nor an end");
  std::optional<uint32_t> first, last;
  for (bool isBegin : {true, false}) {
    StringRef word = isBegin ? from : to;
    if (word.empty())
      continue;
    auto part = find(word, false);
    if (!part)
      return part.takeError();
    (isBegin ? first : last) = isBegin ? part->front() : part->back();
  }
  uint32_t graph = all[first ? *first : *last].subgraph;
  if (!first)
    first = static_cast<uint32_t>(llvm::find_if(all, [&](const Entry &entry) { return entry.subgraph == graph; }) -
                                  all.begin());
  if (!last)
    for (uint32_t i = *first; i < all.size() && all[i].subgraph == graph; ++i)
      last = i;
  if (all[*last].subgraph != graph)
    return makeError("\"" + printable(from) + "\" and \"" + printable(to) + "\" are in two subgraphs");
  if (*last < *first)
    return makeError("\"" + printable(to) + "\" comes before \"" + printable(from) + "\"");
  Numbers part;
  for (uint32_t i = *first; i <= *last; ++i)
    part.push_back(i);
  return part;
}

llvm::Expected<Parts::Numbers> Parts::find(StringRef word, bool mayBeRange) {
  if (auto found = byName.find(word); found != byName.end())
    return found->second;
  auto nothing = [&](const llvm::Twine &what) { return makeError(what + " \"" + printable(word) + "\""); };
  auto some = [&](Numbers part, const llvm::Twine &what) -> llvm::Expected<Numbers> {
    if (part.empty())
      return nothing(what);
    return part;
  };
  StringRef rest = word;
  if (rest.consume_front("re:")) {
    auto part = ofExpression(rest);
    return part ? some(std::move(*part), "no layer has a name in which is found") : part.takeError();
  }
  if (rest.consume_front("kind:"))
    return some(ofKind(rest), "there is no operator of");
  if (rest.consume_front("scope:"))
    return some(ofScope(rest), "no layer is in");
  for (bool reads : {true, false})
    if (rest.consume_front(reads ? "inputs:" : "outputs:")) {
      if (rest.starts_with("inputs:") || rest.starts_with("outputs:"))
        return nothing("there is no border of a border:");
      auto part = find(rest, true);
      return part ? some(atBorder(*part, reads), "nothing is at the border of") : part.takeError();
    }
  for (bool first : {true, false})
    if (rest.consume_front(first ? "first:" : "last:"))
      return ofWeights(rest, first);
  if (size_t at = word.find(".."); mayBeRange && at != StringRef::npos)
    return ofRange(word.take_front(at), word.drop_front(at + 2));
  if (Numbers part = ofKind(word); !part.empty())
    return part;
  if (Numbers part = ofScope(word); !part.empty())
    return part;
  if (Numbers part = ofNumber(word); !part.empty())
    return part;
  if (word.find_first_of("*?[") != StringRef::npos)
    if (Numbers part = ofGlob(word); !part.empty())
      return part;
  return nothing("no operator, kind or scope is called");
}

llvm::Expected<Parts::Operators> Parts::named(llvm::ArrayRef<std::string> words) {
  std::vector<bool> chosen(all.size());
  for (const std::string &word : words) {
    auto part = find(word, true);
    if (!part)
      return part.takeError();
    for (uint32_t number : *part)
      chosen[number] = true;
  }
  Operators operators;
  for (auto [i, entry] : llvm::enumerate(all))
    if (chosen[i])
      operators.push_back(entry.op);
  return operators;
}

Parts::Operators Parts::without(const Operators &operators) const {
  llvm::DenseSet<const Operator *> left(operators.begin(), operators.end());
  Operators others;
  for (const Entry &entry : all)
    if (!left.contains(entry.op))
      others.push_back(entry.op);
  return others;
}

} // namespace origo::quantize
