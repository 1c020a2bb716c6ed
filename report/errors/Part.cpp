#include "report/errors/Part.h"

#include "eval/Parts.h"

#include "llvm/ADT/STLExtras.h"

#include <nlohmann/json.hpp>

namespace origo::report {

using Json = nlohmann::ordered_json;

static constexpr int version = 1;

namespace {

/// The numbers of ErrorSums, for what writes and what reads them.
template <class Sums, class Visit> void eachCount(Sums &sums, Visit visit) {
  visit("records", sums.records);
  visit("directed", sums.directed);
  visit("odd", sums.odd);
}
template <class Sums, class Visit> void eachBound(Sums &sums, Visit visit) {
  visit("low", sums.low);
  visit("high", sums.high);
  visit("max", sums.max);
}
template <class Sums, class Visit> void eachSum(Sums &sums, Visit visit) {
  visit("mse", sums.mse);
  visit("tae", sums.tae);
  visit("mae", sums.mae);
  visit("mpeir", sums.mpeir);
  visit("cosine", sums.cosine);
}

/// What is infinite or no number is no JSON either.
Json finite(double number) { return std::isfinite(number) ? Json(number) : Json(); }

Json listOf(const ExactSum &sum) {
  Json list = Json::array();
  for (double part : sum.parts())
    list.push_back(finite(part));
  return list;
}

Json jsonOf(const ErrorSums &sums) {
  if (sums.empty())
    return nullptr;
  Json json;
  eachCount(sums, [&](const char *name, uint64_t count) { json[name] = count; });
  eachBound(sums, [&](const char *name, double bound) { json[name] = finite(bound); });
  eachSum(sums, [&](const char *name, const ExactSum &sum) { json[name] = listOf(sum); });
  return json;
}

/// Reads what may hold anything: what is not as it should be is noted, and reads as nothing.
struct Reading {
  const char *wrong = nullptr;

  const Json &field(const Json &object, const char *name) {
    static const Json none;
    auto found = object.is_object() ? object.find(name) : object.end();
    return object.is_object() && found != object.end() ? *found : none;
  }
  template <class T> void number(const Json &value, T &number, const char *what) {
    if (value.is_number_unsigned() && value.get<uint64_t>() <= std::numeric_limits<T>::max())
      number = static_cast<T>(value.get<uint64_t>());
    else
      wrong = what;
  }
  void text(const Json &value, std::string &text, const char *what) {
    if (value.is_string())
      text = value.get<std::string>();
    else
      wrong = what;
  }
  void flag(const Json &value, bool &flag, const char *what) {
    if (value.is_boolean())
      flag = value.get<bool>();
    else
      wrong = what;
  }
  void sum(const Json &value, ExactSum &sum, const char *what) {
    if (!value.is_array())
      wrong = what;
    else
      for (const Json &part : value)
        sum.add(part.is_number() ? part.get<double>() : NAN);
  }
  void sums(const Json &value, ErrorSums &sums) {
    if (value.is_null())
      return;
    eachCount(sums,
              [&](const char *name, uint64_t &count) { number(field(value, name), count, "a count is not a number"); });
    eachBound(sums, [&](const char *name, double &bound) {
      const Json &given = field(value, name);
      if (given.is_number())
        bound = given.get<double>();
      else if (&bound == &sums.max)
        bound = INFINITY;
    });
    eachSum(sums, [&](const char *name, ExactSum &one) { sum(field(value, name), one, "a sum is no list"); });
  }
};

} // namespace

std::string ErrorPart::text() const {
  auto dump = [](const Json &json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  Json head = {{"origo-errors", version},    {"source", source},  {"result", result}, {"engine", engine}, {"own", own},
               {"withEffects", withEffects}, {"records", records}};
  std::string out = dump(head);
  out.pop_back();
  out += ",\n\"rows\":[";
  for (const Row &row : rows)
    out += (&row == &rows.front() ? "\n" : ",\n") + dump({{"subgraph", row.subgraph},
                                                          {"tensor", row.tensor},
                                                          {"seen", row.seen},
                                                          {"unmeasured", row.unmeasured},
                                                          {"total", jsonOf(row.total)},
                                                          {"own", jsonOf(row.own)},
                                                          {"inherited", jsonOf(row.inherited)},
                                                          {"effects", listOf(row.effects)},
                                                          {"effectTimes", row.effectTimes}});
  return out + "\n]}\n";
}

llvm::Expected<ErrorPart> ErrorPart::parse(llvm::StringRef text) {
  Json root = Json::parse(text.begin(), text.end(), nullptr, false);
  Reading read;
  if (root.is_discarded() || read.field(root, "origo-errors") != version)
    return makeError("is no file of errors that visq --stats of this version writes");
  ErrorPart part;
  read.text(read.field(root, "source"), part.source, "source is no text");
  read.text(read.field(root, "result"), part.result, "result is no text");
  read.text(read.field(root, "engine"), part.engine, "engine is no text");
  read.flag(read.field(root, "own"), part.own, "own is neither true nor false");
  read.number(read.field(root, "withEffects"), part.withEffects, "withEffects is not a number");
  for (const Json &record : read.field(root, "records"))
    read.number(record, part.records.emplace_back(), "a record has no number");
  if (std::adjacent_find(part.records.begin(), part.records.end(), std::greater_equal<>()) != part.records.end())
    read.wrong = "its records do not ascend";
  for (const Json &json : read.field(root, "rows")) {
    Row &row = part.rows.emplace_back();
    read.number(read.field(json, "subgraph"), row.subgraph, "a tensor has no subgraph");
    read.number(read.field(json, "tensor"), row.tensor, "a tensor has no number");
    read.flag(read.field(json, "seen"), row.seen, "seen is neither true nor false");
    read.text(read.field(json, "unmeasured"), row.unmeasured, "a reason is no text");
    read.sums(read.field(json, "total"), row.total);
    read.sums(read.field(json, "own"), row.own);
    read.sums(read.field(json, "inherited"), row.inherited);
    read.sum(read.field(json, "effects"), row.effects, "effects are no list");
    read.number(read.field(json, "effectTimes"), row.effectTimes, "effects have no number");
    if (read.wrong)
      break;
  }
  if (read.wrong)
    return makeError(llvm::Twine("is a damaged file of errors: ") + read.wrong);
  return part;
}

llvm::Error ErrorPart::merge(const ErrorPart &other) {
  if (source != other.source || result != other.result)
    return makeError("are errors of other models");
  if (llvm::Error error = eval::checkSameEngine(engine, other.engine))
    return error;
  if (own != other.own || withEffects != other.withEffects)
    return makeError("were measured with another --blame or --blame_records");
  bool same = llvm::equal(rows, other.rows,
                          [](const Row &a, const Row &b) { return a.subgraph == b.subgraph && a.tensor == b.tensor; });
  if (!same)
    return makeError("has other tensors");
  if (llvm::Error error = eval::addRecords(records, other.records))
    return error;
  for (auto [mine, its] : llvm::zip_equal(rows, other.rows)) {
    mine.seen |= its.seen;
    noteUnmeasured(mine.unmeasured, its.unmeasured);
    mine.total.add(its.total);
    mine.own.add(its.own);
    mine.inherited.add(its.inherited);
    mine.effects.add(its.effects);
    mine.effectTimes += its.effectTimes;
  }
  return llvm::Error::success();
}

} // namespace origo::report
