#include "origin/codec/Json.h"
#include "origin/codec/LaterSteps.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <optional>

using namespace origo;
using namespace origo::origin;
using llvm::StringRef;
using llvm::Twine;
using nlohmann::json;

namespace {

constexpr uint64_t formatVersion = 1;
constexpr size_t depthLimit = 32;     ///< of a row; real ones are 6 deep
constexpr size_t nodeLimit = 1 << 23; ///< of a row; one that stands for a million operators stays far below

/// The first thing that is wrong.
using Failure = std::optional<std::string>;

/// A value of a row, and where it is. The conversions check what they find and return false once something is wrong.
class Cursor {
public:
  Cursor(const json &value, Failure &failure, StringRef place) : value(value), failure(failure), place(place) {}
  Cursor(const json &value, const Cursor &parent, StringRef key)
      : value(value), failure(parent.failure), place(key), parent(&parent) {}
  Cursor(const json &value, const Cursor &parent, size_t index)
      : value(value), failure(parent.failure), index(index), parent(&parent) {}

  bool fail(const Twine &message) const {
    if (!failure)
      failure = path() + ": " + message.str();
    return false;
  }

  bool isNull() const { return value.is_null(); }
  bool has(const char *key) const { return value.is_object() && value.contains(key); }
  template <class T> bool get(const char *key, T &result) const {
    if (!value.is_object())
      return fail("must be an object");
    auto member = value.find(key);
    if (member == value.end())
      return fail("the key \"" + Twine(key) + "\" is missing");
    return Cursor(*member, *this, key).to(result);
  }
  /// Calls `read` with the member; true if there is none.
  template <class Read> bool withMember(const char *key, Read read) const {
    return !has(key) || read(Cursor(value[key], *this, key));
  }
  template <class T> bool getIfAny(const char *key, T &result) const { return !has(key) || get(key, result); }

  template <class T> bool to(std::vector<T> &result) const {
    if (!value.is_array())
      return fail("must be an array");
    result.resize(value.size());
    for (size_t i = 0; i < result.size(); ++i)
      if (!Cursor(value[i], *this, i).to(result[i]))
        return false;
    return true;
  }
  template <class T> bool to(std::pair<T, T> &result) const {
    std::vector<T> items;
    if (!to(items))
      return false;
    if (items.size() != 2)
      return fail("must have two elements");
    result = {items[0], items[1]};
    return true;
  }
  template <class T, class As> bool through(As &result) const {
    T read;
    if (!to(read))
      return false;
    result = read;
    return true;
  }
  bool to(Word &result) const { return through<std::string>(result); }
  bool to(Text &result) const { return through<std::string>(result); }
  bool to(InlineVector<int32_t> &result) const { return through<std::vector<int32_t>>(result); }
  bool to(uint32_t &result) const { return integer(result); }
  bool to(int32_t &result) const { return integer(result); }
  bool to(int64_t &result) const { return integer(result); }
  bool to(double &result) const {
    if (!value.is_number())
      return fail("must be a number");
    result = value.get<double>();
    return true;
  }
  bool to(bool &result) const {
    if (!value.is_boolean())
      return fail("must be true or false");
    result = value.get<bool>();
    return true;
  }
  bool to(std::string &result) const {
    if (!value.is_string())
      return fail("must be a string");
    result = value.get_ref<const std::string &>();
    return true;
  }
  bool to(Digest &result) const {
    std::string text, bytes;
    if (!to(text))
      return false;
    StringRef digits = text;
    if (!digits.consume_front("sha256:") || digits.size() != 64 || !llvm::tryGetFromHex(digits, bytes))
      return fail("must be \"sha256:\" and 64 hexadecimal digits");
    llvm::copy(bytes, result.begin());
    return true;
  }
  bool to(BoundInput &result) const {
    std::string text, bytes;
    if (!get("tensor", result.tensor) || !get("sha256", text))
      return false;
    if (text.size() != 64 || !llvm::tryGetFromHex(text, bytes))
      return fail("\"sha256\" must be 64 hexadecimal digits");
    llvm::copy(bytes, result.bytes.begin());
    return true;
  }
  bool to(SourceSignature::Entry &result) const { return get("name", result.name) && get("tensor", result.tensor); }
  bool to(SourceFrame &result) const {
    return get("file", result.file) && get("line", result.line) && get("function", result.function);
  }
  bool to(MapUnneeded &result) const {
    return get("operator", result.user) && get("operand", result.operand) && get("reason", result.reason);
  }
  bool to(MapRelation &result) const {
    return get("tensor", result.tensor) && get("steps", result.steps) && getIfAny("exact", result.exact) &&
           getIfAny("lineage", result.lineage) && getIfAny("inherited", result.inherited);
  }
  bool to(MapLineage &result) const {
    return has("origins") ? get("origins", result.operators) && get("operands", result.operands)
                          : get("tensors", result.tensors) && get("operators", result.operators);
  }
  bool to(Term &result) const {
    if (value.is_null())
      return true;
    if (value.is_number_float()) {
      result.kind = Term::Number;
      result.number = value.get<double>();
      return true;
    }
    result.kind = Term::Constant;
    return integer(result.constant);
  }
  bool to(MapStep &result) const;
  bool to(MapSteps &result) const {
    std::vector<MapStep> list;
    if (!to(list))
      return false;
    result = std::move(list);
    return true;
  }

private:
  const json &value;
  Failure &failure;
  StringRef place; ///< key in the parent; without a parent the whole path to here
  size_t index = 0;
  const Cursor *parent = nullptr;

  std::string path() const {
    if (!parent)
      return place.str();
    return parent->path() + (place.empty() ? "[" + std::to_string(index) + "]" : "." + place.str());
  }

  template <class T> bool integer(T &result) const {
    bool fits = value.is_number_unsigned()
                    ? value.get<uint64_t>() <= uint64_t(std::numeric_limits<T>::max())
                    : value.is_number_integer() && std::numeric_limits<T>::min() <= value.get<int64_t>();
    if (!fits)
      return fail("must be an integer of " + Twine(sizeof(T) * 8) + " bits" +
                  (std::numeric_limits<T>::is_signed ? "" : " without a sign"));
    result = value.get<T>();
    return true;
  }
  bool isTrue(const char *key) const {
    bool isTrue = false;
    return get(key, isTrue) && (isTrue || fail("\"" + Twine(key) + "\" must be true"));
  }
};

bool Cursor::to(MapStep &result) const {
  static constexpr std::pair<const char *, MapStep::Kind> kinds[] = {
      {"permute", MapStep::Permute},   {"reshape", MapStep::Reshape},
      {"slice", MapStep::Slice},       {"placed", MapStep::Placed},
      {"cast", MapStep::Cast},         {"affine", MapStep::Affine},
      {"quantize", MapStep::Quantize}, {"affine-by-source", MapStep::Affine},
      {"scaled", MapStep::Scaled}};
  if (!value.is_object())
    return fail("must be an object");
  const char *found = nullptr;
  for (auto [key, kind] : kinds) {
    if (!has(key))
      continue;
    if (found)
      return fail("is two steps at once");
    found = key;
    result.kind = kind;
  }
  if (!found) {
    result.kind = MapStep::Unknown;
    result.unknown = value.dump(); // not deep: depthLimit
    return true;
  }
  switch (result.kind) {
  case MapStep::Permute:
    return get(found, result.first);
  case MapStep::Slice:
  case MapStep::Placed: {
    Cursor part(value[found], *this, found);
    return part.get("begin", result.first) && part.get("size", result.second);
  }
  case MapStep::Affine: {
    Cursor affine(value[found], *this, found);
    bool whole =
        affine.get("axis", result.axis) && affine.get("scale", result.scale) && affine.get("shift", result.shift);
    if (StringRef(found) != "affine")
      for (Term *term : {&result.scale, &result.shift})
        if (term->kind == Term::Constant)
          term->kind = Term::Source;
    return whole;
  }
  case MapStep::Scaled:
    return readLaterStep(json{{found, value[found]}}.dump(), result) ||
           fail("\"scaled\" must have an axis and finite numbers");
  default:
    return isTrue(found);
  }
}

/// Takes the events of nlohmann's parser. The objects and arrays that hold the rows are only passed through; each row
/// is put together, taken over into the map and forgotten; what is not known is not even put together.
class Reader {
public:
  OriginMap map;
  Failure failure;

  Reader() {
    using R = Reader;
    add("", Object);
    addRequired("format", &R::takeFormat);
    addRequired("version", &R::takeVersion);
    add("generator", [](R &r, const Cursor &at) { return at.to(r.map.generator); });
    add("retrained", [](R &r, const Cursor &at) { return at.to(r.map.retrained); });
    for (bool ofTarget : {false, true}) {
      std::string model = ofTarget ? "target" : "source";
      add(model, Object).isRequired = true;
      // Both structs have these members, but no common base.
      if (ofTarget)
        addFile<&OriginMap::target>(model);
      else
        addFile<&OriginMap::source>(model);
      if (ofTarget) {
        add(model + ".laws", [](R &r, const Cursor &at) { return at.to(r.map.target.laws); });
        add(model + ".inferred", [](R &r, const Cursor &at) { return at.to(r.map.target.inferred); });
        add(model + ".proof", [](R &r, const Cursor &at) { return at.to(r.map.target.proof); });
      }
      add(model + ".subgraphs", Array).isRequired = true;
      add(model + ".subgraphs[]", Object).begin = ofTarget ? &R::beginTarget : &R::beginSource;
      add(model + ".subgraphs[].operators", Array).isRequired = true;
    }
    add("source.names", [](R &r, const Cursor &at) { return at.to(r.map.source.namesKnown); });
    add("source.files", [](R &r, const Cursor &at) { return at.to(r.map.source.files); });
    add("source.frames", Array);
    add("source.frames[]", [](R &r, const Cursor &at) { return at.to(r.map.source.frames.emplace_back()); });
    add("source.stacks", Array);
    add("source.stacks[]", [](R &r, const Cursor &at) { return at.to(r.map.source.stacks.emplace_back()); });
    add("source.lines_from", [](R &r, const Cursor &at) { return at.to(r.map.source.linesFrom); });
    add("source.bound", Array);
    add("source.bound[]", [](R &r, const Cursor &at) { return at.to(r.map.source.bound.emplace_back()); });
    add("source.signatures", Array);
    add("source.signatures[]", &R::takeSignature);
    add("source.subgraphs[].name", [](R &r, const Cursor &at) { return at.to(r.map.source.subgraphs.back().name); });
    add("source.subgraphs[].operators[]", &R::takeSourceOperator);
    add("source.subgraphs[].tensors", Array).isRequired = true;
    add("source.subgraphs[].tensors[]", &R::takeSourceTensor);
    add("target.subgraphs[].name", [](R &r, const Cursor &at) { return at.to(r.map.target.subgraphs.back().name); });
    addRequired("target.subgraphs[].source",
                [](R &r, const Cursor &at) { return at.to(r.map.target.subgraphs.back().source); });
    add("target.subgraphs[].operators[]", &R::takeOperator);
    add("target.subgraphs[].constants", Array).isRequired = true;
    add("target.subgraphs[].constants[]", [](R &r, const Cursor &at) { return r.takeTensor(at, true); });
    add("target.subgraphs[].values", Array).isRequired = true;
    add("target.subgraphs[].values[]", [](R &r, const Cursor &at) { return r.takeTensor(at, false); });
    add("ledger", Array).isRequired = true;
    add("ledger[]", &R::takeLedgerRow);
    add("unneeded", Array);
    add("unneeded[]", &R::takeUnneededOfLiving);
    add("assumptions", Array);
    add("assumptions[]", &R::takeAssumption);
    add("chain", Array);
    add("chain[]", &R::takeChainEntry);
  }

  // The events.
  bool null() { return scalar(nullptr); }
  bool boolean(bool value) { return scalar(value); }
  bool number_integer(int64_t value) { return scalar(value); }
  bool number_unsigned(uint64_t value) { return scalar(value); }
  bool number_float(double value, const std::string &) { return scalar(value); }
  bool string(std::string &value) { return scalar(std::move(value)); }
  bool binary(json::binary_t &) { return fail("binary data"); }
  bool start_object(size_t) { return start(Object); }
  bool start_array(size_t) { return start(Array); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool key(std::string &key) {
    if (skipped)
      return true;
    if (!row.empty()) {
      if (row.back()->contains(key))
        return fail("has a key twice");
      rowKeys.back() = std::move(key);
      return true;
    }
    Frame &frame = frames.back();
    frame.key = std::move(key);
    auto place = places.find(path());
    if (place != places.end() && !frame.seen.insert(&place->second).second)
      return fail("is there twice");
    return true;
  }
  template <class Exception> bool parse_error(size_t position, const std::string &, const Exception &) {
    if (!failure)
      failure = "not JSON at byte " + std::to_string(position);
    return false;
  }

  /// After the last event.
  void finish() {
    if (!map.source.linesAreWhole() && !failure)
      failure = "source: lines are told by numbers of files, frames or stacks that are not there";
    llvm::stable_sort(map.unneeded, [](const MapUnneeded &a, const MapUnneeded &b) {
      return std::pair(a.isTensor, a.id) < std::pair(b.isTensor, b.id);
    });
    for (auto [g, graph] : llvm::enumerate(map.target.subgraphs)) {
      auto index = [](const TensorRow &a, const TensorRow &b) { return a.index < b.index; };
      llvm::sort(graph.tensors, index);
      for (size_t i = 1; i < graph.tensors.size(); ++i)
        if (graph.tensors[i - 1].index == graph.tensors[i].index && !failure)
          failure = "target.subgraphs[" + std::to_string(g) + "]: tensor " + std::to_string(graph.tensors[i].index) +
                    " is there twice";
    }
  }

private:
  enum Shape { Object, Array, Value };
  struct Place {
    Shape shape = Value;
    bool isRequired = false;
    std::function<bool(Reader &, const Cursor &)> take; ///< of a Value
    void (Reader::*begin)() = nullptr;                  ///< of an Object
  };
  /// An open object or array that is not part of a row.
  struct Frame {
    std::string path; ///< without indices
    bool isArray;
    std::string key;           ///< in an object
    size_t index = size_t(-1); ///< in an array
    llvm::SmallPtrSet<const Place *, 8> seen = {};
  };

  llvm::StringMap<Place> places;
  std::vector<Frame> frames;
  size_t skipped = 0;      ///< open objects and arrays that nobody wants
  json value;              ///< the row
  size_t nodes = 0;        ///< of it
  std::vector<json *> row; ///< its open objects and arrays
  std::vector<std::string> rowKeys;
  const Place *rowPlace = nullptr;
  llvm::DenseSet<uint64_t> ledgerIds; ///< 32 bits, and one that says of what

  Place &add(const Twine &path, Shape shape) {
    Place &place = places[path.str()];
    place.shape = shape;
    return place;
  }
  template <class Take> Place &add(const Twine &path, Take take) {
    Place &place = places[path.str()];
    place.take = std::move(take);
    return place;
  }
  template <class Take> void addRequired(const Twine &path, Take take) { add(path, std::move(take)).isRequired = true; }
  template <auto model> void addFile(const std::string &path) {
    add(path + ".file", [](Reader &r, const Cursor &at) { return at.to((r.map.*model).file); });
    addRequired(path + ".format", [](Reader &r, const Cursor &at) { return at.to((r.map.*model).format); });
    addRequired(path + ".fingerprint", [](Reader &r, const Cursor &at) { return at.to((r.map.*model).fingerprint); });
    addRequired(path + ".content", [](Reader &r, const Cursor &at) { return at.to((r.map.*model).content); });
  }

  /// Of the value that comes now, without indices; the key to `places`.
  std::string path() const {
    if (frames.empty())
      return {};
    const Frame &frame = frames.back();
    if (frame.isArray)
      return frame.path + "[]";
    return frame.path.empty() ? frame.key : frame.path + "." + frame.key;
  }
  /// The same with indices, for messages. Keys that are not known do not come here, so it is safe to print.
  std::string location() const {
    std::string result;
    for (const Frame &frame : frames) {
      if (frame.isArray)
        result += "[" + std::to_string(frame.index) + "]";
      else
        result += (result.empty() ? "" : ".") + frame.key;
    }
    return result.empty() ? "the side file" : result;
  }
  bool fail(const Twine &message) {
    if (!failure)
      failure = location() + ": " + message.str();
    return false;
  }

  const Place *next() {
    if (!frames.empty() && frames.back().isArray)
      ++frames.back().index;
    auto place = places.find(path());
    return place == places.end() ? nullptr : &place->second;
  }

  json *append(json item) {
    if (++nodes > nodeLimit)
      return fail("is too large"), nullptr;
    if (row.back()->is_array()) {
      row.back()->push_back(std::move(item));
      return &row.back()->back();
    }
    json &member = (*row.back())[rowKeys.back()];
    member = std::move(item);
    return &member;
  }

  bool take(const Place &place) {
    std::string where = location();
    return place.take(*this, Cursor(value, failure, where));
  }

  template <class T> bool scalar(T &&item) {
    if (skipped)
      return true;
    if (!row.empty())
      return append(std::forward<T>(item));
    const Place *place = next();
    if (!place)
      return frames.empty() ? fail("must be an object") : true;
    if (place->shape != Value)
      return fail(place->shape == Object ? "must be an object" : "must be an array");
    value = std::forward<T>(item);
    return take(*place);
  }

  bool start(Shape shape) {
    if (skipped)
      return ++skipped;
    if (!row.empty()) {
      if (row.size() == depthLimit)
        return fail("is nested too deeply");
      json *item = append(shape == Object ? json::object() : json::array());
      if (!item)
        return false;
      row.push_back(item);
      rowKeys.emplace_back();
      return true;
    }
    const Place *place = next();
    if (!place)
      return ++skipped;
    if (place->shape == Value) {
      value = shape == Object ? json::object() : json::array();
      nodes = 0;
      row.push_back(&value);
      rowKeys.emplace_back();
      rowPlace = place;
      return true;
    }
    if (place->shape != shape)
      return fail(place->shape == Object ? "must be an object" : "must be an array");
    frames.push_back({path(), shape == Array, {}});
    if (place->begin)
      (this->*place->begin)();
    return true;
  }

  bool end() {
    if (skipped) {
      --skipped;
      return true;
    }
    if (!row.empty()) {
      row.pop_back();
      rowKeys.pop_back();
      return !row.empty() || take(*rowPlace);
    }
    Frame frame = std::move(frames.back());
    frames.pop_back();
    if (frame.isArray)
      return true;
    std::string missing;
    for (const auto &entry : places) {
      // Members of this object, not of one in it.
      StringRef key = entry.getKey();
      bool isIn = frame.path.empty() || (key.consume_front(frame.path) && key.consume_front("."));
      if (isIn && entry.second.isRequired && !key.contains('.') && !key.contains('[') &&
          !frame.seen.contains(&entry.second) && (missing.empty() || key < missing))
        missing = key.str();
    }
    return missing.empty() || fail("the key \"" + Twine(missing) + "\" is missing");
  }

  void beginSource() {
    SourceSubgraph graph;
    graph.firstOperator = map.source.operatorCount();
    graph.firstTensor = map.source.tensorCount();
    map.source.subgraphs.push_back(std::move(graph));
  }
  void beginTarget() { map.target.subgraphs.emplace_back(); }

  bool takeFormat(const Cursor &at) {
    std::string format;
    return at.to(format) && (format == "origo.origin-map" || at.fail("this is not an origin map"));
  }
  bool takeVersion(const Cursor &at) {
    uint32_t version;
    return at.to(version) &&
           (version == formatVersion || at.fail("the origin map has version " + Twine(version) +
                                                ", this program reads version " + Twine(formatVersion)));
  }

  static bool number(const Cursor &at, const char *key, size_t expected) {
    uint32_t number;
    return at.get(key, number) && (number == expected || at.fail("\"" + Twine(key) + "\" is " + Twine(number) +
                                                                 " where " + Twine(expected) + " should come"));
  }

  bool takeSourceOperator(const Cursor &at) {
    SourceSubgraph &graph = map.source.subgraphs.back();
    size_t index = graph.operators.size();
    SourceOperator op;
    if (!number(at, "id", graph.firstOperator + index) || !number(at, "index", index) || !at.get("op", op.op) ||
        !at.getIfAny("custom_code", op.customCode) || !at.get("tensors", op.tensors) || !takeLayer(at, op))
      return false;
    graph.operators.push_back(std::move(op));
    // Maps of before have neither. What rows behind one without say has no place.
    if (at.has("operands") && graph.operandEnds.size() == index) {
      std::vector<int32_t> operands;
      if (!at.get("operands", operands))
        return false;
      graph.operands.insert(graph.operands.end(), operands.begin(), operands.end());
      graph.operandEnds.push_back(graph.operands.size());
    }
    if (at.has("macs") && at.has("bytes") && graph.costs.size() == index) {
      SourceCost &cost = graph.costs.emplace_back();
      return takeCost(at, "macs", cost.macs) && takeCost(at, "bytes", cost.bytes);
    }
    return true;
  }

  static bool takeLayer(const Cursor &at, SourceOperator &op) {
    SourceLayer layer;
    if (!at.getIfAny("name", layer.name) || !at.getIfAny("scope", layer.scope) ||
        !at.getIfAny("class", layer.className) || !at.getIfAny("note", layer.note) ||
        !at.getIfAny("lines", layer.stack))
      return false;
    layer.setPath();
    if (!(layer == SourceLayer()))
      op.layer = std::make_shared<SourceLayer>(std::move(layer));
    return true;
  }

  static bool takeCost(const Cursor &at, const char *key, uint64_t &cost) {
    return at.withMember(key, [&](const Cursor &member) {
      int64_t number = 0;
      if (member.isNull())
        return true;
      if (!member.to(number))
        return false;
      cost = number;
      return number >= 0 || member.fail("must not be negative");
    });
  }

  bool takeSourceTensor(const Cursor &at) {
    static constexpr StringRef kinds[] = {"input", "activation", "variable", "constant", "absent"};
    SourceSubgraph &graph = map.source.subgraphs.back();
    size_t index = graph.tensors.size();
    SourceTensor tensor;
    std::string kind;
    if (!number(at, "id", graph.firstTensor + index) || !number(at, "index", index) || !at.get("name", tensor.name) ||
        !at.get("kind", kind))
      return false;
    const StringRef *found = llvm::find(kinds, kind);
    if (found == std::end(kinds))
      return at.fail("its kind is none of the five");
    tensor.kind = TensorKind(found - kinds);
    graph.tensors.push_back(std::move(tensor));
    return true;
  }

  bool takeSignature(const Cursor &at) {
    SourceSignature &signature = map.source.signatures.emplace_back();
    return at.get("key", signature.key) && at.get("subgraph", signature.subgraph) &&
           at.get("inputs", signature.inputs) && at.get("outputs", signature.outputs);
  }

  bool takeOperator(const Cursor &at) {
    std::vector<OperatorRow> &rows = map.target.subgraphs.back().operators;
    OperatorRow row;
    if (!number(at, "index", rows.size()) || !at.get("op", row.op) || !at.getIfAny("custom_code", row.customCode) ||
        !at.get("outputs", row.outputs) || !at.get("origins", row.origins) || !at.get("passes", row.passes) ||
        !at.getIfAny("wide", row.wide) || !at.getIfAny("calls", row.calls) || !at.getIfAny("lineages", row.lineages) ||
        !at.getIfAny("movedPast", row.movedPast) || !at.getIfAny("inexact", row.inexact) ||
        !takeSynthetic(at, row.syntheticReason, &row.serves))
      return false;
    rows.push_back(std::move(row));
    return true;
  }

  bool takeTensor(const Cursor &at, bool constant) {
    TensorRow row;
    row.constant = constant;
    auto behind = [&](const char *key, std::vector<uint32_t> &ids) {
      return constant ? at.get(key, ids) : at.getIfAny(key, ids);
    };
    if (!at.get("index", row.index) || !at.get("name", row.name) || !behind("tensors", row.tensors) ||
        !behind("operators", row.operators) || !at.get("relations", row.relations) ||
        !at.getIfAny("reason", row.reason) || !at.getIfAny("lineages", row.lineages) ||
        !at.getIfAny("expression", row.expression) || !at.getIfAny("inexact", row.inexact) ||
        !takeSynthetic(at, row.syntheticReason, nullptr))
      return false;
    map.target.subgraphs.back().tensors.push_back(std::move(row));
    return true;
  }

  static bool takeSynthetic(const Cursor &at, Word &reason, std::vector<uint32_t> *serves) {
    return at.withMember("synthetic", [&](const Cursor &synthetic) {
      return synthetic.get("reason", reason) && (!serves || synthetic.get("serves", *serves));
    });
  }

  bool takeLedgerRow(const Cursor &at) {
    MapLedgerRow row;
    row.isTensor = at.has("tensor");
    if (row.isTensor && at.has("operator"))
      return at.fail("is of an operator and of a tensor");
    if (!at.get(row.isTensor ? "tensor" : "operator", row.id) || !at.get("fate", row.fate) ||
        !at.getIfAny("was", row.was) || !at.get("pass", row.pass) || !at.get("run", row.run) ||
        !at.get("rewrite", row.rewrite) || !at.getIfAny("with", row.with))
      return false;
    bool isWhole = at.withMember("into", [&](const Cursor &into) {
      return into.get("operators", row.operators) && into.get("tensors", row.tensors);
    }) && at.withMember("ledTo", [&](const Cursor &ledTo) {
      MapLedgerRow::Places &places = row.ledTo.emplace();
      return ledTo.get("operators", places.operators) && ledTo.get("tensors", places.tensors);
    }) && at.withMember("part", [&](const Cursor &part) {
      return part.get("file", row.partFile) && part.get("fingerprint", row.partFingerprint);
    });
    if (!isWhole)
      return false;
    if (!at.has("into"))
      return at.fail("the key \"into\" is missing");
    if (!ledgerIds.insert(uint64_t(row.isTensor) << 32 | row.id).second)
      return at.fail("the ledger has its id twice");
    if (!takeUnneeded(at, row.isTensor, row.id))
      return false;
    map.ledger.push_back(std::move(row));
    return true;
  }

  bool takeUnneeded(const Cursor &at, bool isTensor, uint32_t id) {
    size_t before = map.unneeded.size();
    std::vector<MapUnneeded> rows;
    if (!at.getIfAny("unneeded", rows))
      return false;
    map.unneeded.insert(map.unneeded.end(), rows.begin(), rows.end());
    for (MapUnneeded &row : llvm::drop_begin(map.unneeded, before)) {
      row.isTensor = isTensor;
      row.id = id;
    }
    return true;
  }

  bool takeUnneededOfLiving(const Cursor &at) {
    bool isTensor = at.has("tensor");
    uint32_t id = 0;
    return at.get(isTensor ? "tensor" : "operator", id) && takeUnneeded(at, isTensor, id);
  }

  bool takeAssumption(const Cursor &at) {
    MapAssumption &one = map.assumptions.emplace_back();
    std::vector<double> means;
    if (!at.get("number", one.number) || !at.get("means", means) || !at.get("pass", one.pass))
      return false;
    if (means.size() != 2 || !isSound(one = {one.number, means[0], means[1], one.pass}))
      return at.fail("an assumption is of a number and of a quotient of two");
    return true;
  }

  bool takeChainEntry(const Cursor &at) {
    ChainEntry &entry = map.chain.emplace_back();
    return at.getIfAny("file", entry.file) && at.get("format", entry.format) &&
           at.get("fingerprint", entry.fingerprint) && at.getIfAny("laws", entry.laws) &&
           at.getIfAny("inferred", entry.inferred) && at.getIfAny("proof", entry.proof);
  }
};

} // namespace

llvm::Expected<OriginMap> origin::readJson(StringRef text) {
  Reader reader;
  bool isRead = json::sax_parse(text.begin(), text.end(), &reader);
  if (isRead)
    reader.finish();
  if (!isRead || reader.failure)
    return llvm::createStringError(Twine(reader.failure.value_or("not JSON")));
  return std::move(reader.map);
}
