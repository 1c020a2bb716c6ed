#include "report/CheckedJson.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/StringSet.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;
using nlohmann::json;

namespace {

struct JsonChecker : nlohmann::json_sax<json> {
  static constexpr size_t depthLimit = 64;
  std::vector<llvm::StringSet<>> open;
  std::string failure;

  bool fail(const std::string &what) {
    failure = what;
    return false;
  }
  bool mayNest(size_t depth) {
    return depth <= depthLimit || fail("is nested more than " + std::to_string(depthLimit) + " deep");
  }
  bool twice(const std::string &key) { return fail("has the key \"" + printable(key, 60) + "\" twice"); }
  bool deeper() {
    open.emplace_back();
    return mayNest(open.size());
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t &) override { return true; }
  bool string(string_t &) override { return true; }
  bool binary(binary_t &) override { return true; }
  bool start_object(size_t) override { return deeper(); }
  bool end_object() override { return open.pop_back(), true; }
  bool start_array(size_t) override { return deeper(); }
  bool end_array() override { return open.pop_back(), true; }
  bool key(string_t &key) override { return open.back().insert(key).second || twice(key); }
  bool parse_error(size_t position, const std::string &, const nlohmann::json::exception &) override {
    return fail("is no JSON from byte " + std::to_string(position) + " on");
  }
};

/// Builds one event at a time. What is around their list is checked and left out.
struct EventParser : JsonChecker {
  explicit EventParser(llvm::function_ref<llvm::Error(const ListedEvent &)> visit) : visit(visit) {}

  llvm::function_ref<llvm::Error(const ListedEvent &)> visit;
  bool inList = false, hasList = false;
  size_t number = 0;
  ListedEvent event;
  json other;                  ///< an element that is no object
  std::vector<json *> parents; ///< of the value that comes next, within a member of the event or `other`
  json *member = &other;       ///< the value that comes next, where it is no element of a list
  bool isEvents = false;       ///< the last key of the text's own object is "traceEvents"

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t &) override { return add(value); }
  bool string(string_t &value) override { // the parser uses its buffer again
    if (!inList || !parents.empty() || !member->is_string())
      return add(value);
    member->get_ref<string_t &>() = value; // the event before had a string here, whose memory does
    return isInside() || tell();
  }
  bool start_object(size_t) override {
    if (!inList)
      return deeper();
    if (parents.empty() && !event.isObject)
      return event.isObject = true;
    return begin(json::object());
  }
  bool end_object() override { return inList ? end() : JsonChecker::end_object(); }
  bool start_array(size_t) override {
    if (inList)
      return begin(json::array());
    inList = !hasList && (open.empty() || (open.size() == 1 && isEvents));
    hasList |= inList;
    return deeper();
  }
  bool end_array() override {
    if (!parents.empty())
      return end();
    inList = false;
    return JsonChecker::end_array();
  }
  bool key(string_t &key) override {
    if (!inList) {
      isEvents = open.size() == 1 && key == "traceEvents";
      return JsonChecker::key(key);
    }
    if (parents.empty()) {
      if (event.isFull())
        return fail("has an event with more than " + std::to_string(ListedEvent::mostMembers) + " keys");
      member = event.add(key);
      return member || twice(key);
    }
    auto [found, isNew] = parents.back()->emplace(key, nullptr);
    member = &*found;
    return isNew || twice(key);
  }

  json &place(json value) {
    if (parents.empty() || !parents.back()->is_array())
      return *member = std::move(value);
    parents.back()->push_back(std::move(value));
    return parents.back()->back();
  }
  template <class Value> bool add(Value &&value) {
    if (!inList)
      return true;
    place(std::forward<Value>(value));
    return isInside() || tell();
  }
  bool begin(json value) {
    parents.push_back(&place(std::move(value)));
    return mayNest(open.size() + event.isObject + parents.size());
  }
  bool end() {
    if (parents.empty()) // of the event itself
      return tell();
    parents.pop_back();
    return isInside() || tell();
  }
  bool isInside() const { return event.isObject || !parents.empty(); }
  bool tell() {
    if (llvm::Error error = visit(event))
      return fail("traceEvents[" + std::to_string(number) + "]: " + llvm::toString(std::move(error)));
    ++number;
    event.clear();
    member = &other;
    return true;
  }
};

} // namespace

ListedEvent::ListedEvent() = default;
ListedEvent::~ListedEvent() = default;

const json *ListedEvent::find(StringRef key) const {
  for (size_t i = 0; i < size; ++i)
    if (members[i].first == key)
      return &members[i].second;
  return nullptr;
}

StringRef ListedEvent::text(StringRef key) const {
  const json *member = find(key);
  return member && member->is_string() ? StringRef(member->get_ref<const std::string &>()) : "";
}

json *ListedEvent::add(StringRef key) {
  if (size == mostMembers || find(key))
    return nullptr;
  if (members.size() == size)
    members.emplace_back();
  members[size].first.assign(key.data(), key.size());
  return &members[size++].second;
}

void ListedEvent::clear() {
  size = 0;
  isObject = false;
}

llvm::Error report::checkJson(StringRef text) {
  JsonChecker checker;
  if (json::sax_parse(text.begin(), text.end(), &checker))
    return llvm::Error::success();
  return makeError(checker.failure);
}

llvm::Error report::forEachEvent(StringRef text, llvm::function_ref<llvm::Error(const ListedEvent &)> visit) {
  EventParser parser(visit);
  if (!json::sax_parse(text.begin(), text.end(), &parser))
    return makeError(parser.failure);
  return parser.hasList ? llvm::Error::success() : makeError("has no list \"traceEvents\"");
}
