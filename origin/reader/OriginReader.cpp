#include "origin/OriginReader.h"
#include "origin/CLocale.h"
#include "origin/codec/OriginFile.h"

#include "llvm/ADT/STLFunctionalExtras.h"

using namespace origo;
using namespace origo::origin;

namespace {

/// Lists of places by id, one behind the other.
class PlacesById {
public:
  /// `forEach` calls its visitor with all ids and places, and is called twice. Ids that do not exist are left out.
  using Visitor = llvm::function_ref<void(uint32_t id, Place place)>;
  PlacesById(uint32_t idCount, llvm::function_ref<void(Visitor)> forEach) : first(size_t(idCount) + 1) {
    std::vector<Place> last(idCount, Place{~0u, ~0u});
    // A tensor can be related to one of the source in several ways; its place is said once.
    auto isNew = [&](uint32_t id, Place place) {
      return id < idCount && last[id] != place && (last[id] = place, true);
    };
    forEach([&](uint32_t id, Place place) {
      if (isNew(id, place))
        ++first[id + 1];
    });
    for (size_t i = 1; i < first.size(); ++i)
      first[i] += first[i - 1];
    places.resize(first.back());
    last.assign(idCount, Place{~0u, ~0u});
    std::vector<size_t> next = first;
    forEach([&](uint32_t id, Place place) {
      if (isNew(id, place))
        places[next[id]++] = place;
    });
  }

  std::span<const Place> operator[](uint32_t id) const {
    if (size_t(id) + 1 >= first.size())
      return {};
    return std::span(places).subspan(first[id], first[id + 1] - first[id]);
  }

private:
  std::vector<size_t> first;
  std::vector<Place> places;
};

void forEachOrigin(const Target &target, PlacesById::Visitor visit) {
  for (uint32_t g = 0; g < target.subgraphs.size(); ++g)
    for (uint32_t i = 0; i < target.subgraphs[g].operators.size(); ++i)
      for (uint32_t id : target.subgraphs[g].operators[i].origins)
        visit(id, {g, i});
}

void forEachTensorRow(const Target &target, llvm::function_ref<void(const TensorRow &row, Place place)> visit) {
  for (uint32_t g = 0; g < target.subgraphs.size(); ++g)
    for (const TensorRow &row : target.subgraphs[g].tensors)
      visit(row, {g, row.index});
}

void forEachRelated(const Target &target, PlacesById::Visitor visit) {
  forEachTensorRow(target, [&](const TensorRow &row, Place place) {
    for (const MapRelation &relation : row.relations)
      visit(relation.tensor, place);
  });
}

void forEachBehind(const Target &target, std::vector<uint32_t> TensorRow::*ids, PlacesById::Visitor visit) {
  forEachTensorRow(target, [&](const TensorRow &row, Place place) {
    for (uint32_t id : row.*ids)
      visit(id, place);
  });
}

std::vector<const MapLedgerRow *> gone(const OriginMap &map, bool tensors) {
  std::vector<const MapLedgerRow *> result(tensors ? map.source.tensorCount() : map.source.operatorCount());
  for (const MapLedgerRow &row : map.ledger)
    if (row.isTensor == tensors && row.id < result.size() && !result[row.id])
      result[row.id] = &row;
  return result;
}

} // namespace

struct OriginReader::Impl {
  Impl(OriginMap opened, std::vector<std::string> notes)
      : map(std::move(opened)), notes(std::move(notes)),
        operators(map.source.operatorCount(), [&](auto visit) { forEachOrigin(map.target, visit); }),
        operatorsBehind(map.source.operatorCount(),
                        [&](auto visit) { forEachBehind(map.target, &TensorRow::operators, visit); }),
        tensors(map.source.tensorCount(), [&](auto visit) { forEachRelated(map.target, visit); }),
        tensorsBehind(map.source.tensorCount(),
                      [&](auto visit) { forEachBehind(map.target, &TensorRow::tensors, visit); }),
        goneOperators(gone(map, false)), goneTensors(gone(map, true)) {}

  OriginMap map;
  std::vector<std::string> notes;
  PlacesById operators, operatorsBehind, tensors, tensorsBehind;
  std::vector<const MapLedgerRow *> goneOperators, goneTensors;
};

std::optional<OriginReader> OriginReader::open(const std::string &path, std::string &error) {
  CLocale plain;
  auto file = openOriginFile(path, /*mapPath=*/"", /*acceptStale=*/false);
  if (!file) {
    error = llvm::toString(file.takeError());
    return std::nullopt;
  }
  if (!file->map) {
    error = path + ": carries no origin map, and there is no " + path +
            ".origin.json; circle2circle writes both unless it is told not to";
    return std::nullopt;
  }
  return OriginReader(std::make_unique<const Impl>(std::move(*file->map), std::move(file->notes)));
}

OriginReader::OriginReader(std::unique_ptr<const Impl> impl) : impl(std::move(impl)) {}
OriginReader::OriginReader(OriginReader &&) noexcept = default;
OriginReader &OriginReader::operator=(OriginReader &&) noexcept = default;
OriginReader::~OriginReader() = default;

const OriginMap &OriginReader::map() const { return impl->map; }
const std::vector<std::string> &OriginReader::notes() const { return impl->notes; }

OperatorFate OriginReader::whereIsOperator(uint32_t id) const {
  return {impl->operators[id], impl->operatorsBehind[id],
          id < impl->goneOperators.size() ? impl->goneOperators[id] : nullptr};
}

TensorFate OriginReader::whereIsTensor(uint32_t id) const {
  return {impl->tensors[id], impl->tensorsBehind[id], id < impl->goneTensors.size() ? impl->goneTensors[id] : nullptr};
}
