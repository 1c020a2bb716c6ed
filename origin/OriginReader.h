#pragma once

#include "origin/Naming.h"
#include "origin/OriginMap.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

/// The door for code generators, profilers and other programs: opens a model or a side file and tells where everything
/// in it came from. CMake: find_package(Origo), target_link_libraries(… Origo::OriginReader). See
/// docs/reading-origins.md.
namespace origo::origin {

/// Something in the written file: an operator or a tensor, as the context says.
struct Place {
  uint32_t subgraph, index;
  bool operator==(const Place &) const = default;
};

/// What became of an operator of the source. It is live (in `operators`) or gone; a map that is true says one of the
/// two.
struct OperatorFate {
  std::span<const Place> operators; ///< that do its work
  std::span<const Place> constants; ///< whose values it was worked into
  const MapLedgerRow *gone;         ///< null: it is live
};

/// What became of a tensor of the source. It is live (in `tensors` or `constants`) or gone.
struct TensorFate {
  std::span<const Place> tensors;   ///< that are related to it, see TensorRow::relations
  std::span<const Place> constants; ///< that were computed from it
  const MapLedgerRow *gone;         ///< null: it is live
};

/// Everything that a reader hands out lives as long as it does, and does not move when it is moved. A reader never
/// changes: threads may share it. It holds no file open.
///
/// Texts are the bytes of the model file: of any length, with any bytes but NUL, and not always UTF-8. Who writes them
/// into a comment or a string of generated code must escape them. Ids and indices in a map are what the file says;
/// findOperator() and findTensor() of `source` and `target` are safe with any number.
class [[gnu::visibility("default")]] OriginReader {
public:
  /// A .circle or .tflite file, or a side file (NAME.origin.json) without its model. The map is the one that the model
  /// carries, else the side file beside it. It must belong to the model, else the result is empty. A map that was
  /// embedded without names takes them from the side file beside the model, if that is about the same source.
  /// `error` becomes one line that names the file. Throws nothing but std::bad_alloc.
  static std::optional<OriginReader> open(const std::string &path, std::string &error);

  /// All facts. `target` is the written file: its operators with origins and passes, its tensors with relations;
  /// `source` the first model, with names.
  const OriginMap &map() const;
  /// What a user may want to know about how the map was found, one line each.
  const std::vector<std::string> &notes() const;

  /// By id; of an id that the source does not have nothing is known: empty and null. Constant time.
  OperatorFate whereIsOperator(uint32_t id) const;
  TensorFate whereIsTensor(uint32_t id) const;

  OriginReader(OriginReader &&) noexcept;
  OriginReader &operator=(OriginReader &&) noexcept;
  ~OriginReader();

private:
  struct Impl;
  std::unique_ptr<const Impl> impl;
  explicit OriginReader(std::unique_ptr<const Impl> impl);
};

} // namespace origo::origin
