#pragma once

#include "ir/Model.h"
#include "origin/OriginMap.h"

namespace origo {

/// What to do with an origin map (ours or ONE's tables) found in the input.
enum class OriginMode : uint8_t {
  Continue, ///< its source stays the source; a map that does not fit the model is refused
  Restart,  ///< the input becomes the source
  None,     ///< for a model that is only run: its lineage stays empty, and it cannot be exported
};

struct ImportOptions {
  OriginMode origin = OriginMode::Continue;
  /// A side file's map for an input that carries none (or ids only); checked against the model like an embedded one.
  std::shared_ptr<const origin::OriginMap> map;
  /// Without them a model is read for its structure: nothing is said of payloads, which may be cut off or lie behind
  /// the end of the file, and such a model cannot be exported or run. An origin map whose fingerprint cannot be
  /// compared for lack of payloads is continued where it lists the operators and tensors that the model has.
  bool payloads = true;
  /// For people to look at: scales that do not fit their tensor are a note. Such a model is not rewritten, run or
  /// exported.
  bool tolerant = false;
};

/// An input or an output of the first subgraph, as it was read.
struct EndAsRead {
  std::string name;
  llvm::SmallVector<int32_t, 4> shape;
  llvm::SmallVector<uint32_t, 1> sources; ///< the source tensors that it is
};

struct Imported {
  std::unique_ptr<Model> model;
  origin::Lineage lineage;
  std::vector<std::string> notes; ///< one-line notices for the user, for example about an empty ONE_op_table
  uint64_t bytes = 0;             ///< of the file, or of what came through the pipe
  std::vector<EndAsRead> inputs = {}, outputs = {};

  /// Notes what inputs and outputs are now. For who has read the model.
  void rememberEnds();
  /// Are they others now: another number of them, or in the same place another tensor or one of another shape?
  bool hasOtherEnds() const;
};

/// Maps and checks a `.circle` or `.tflite` file (told apart by its identifier) and builds the graph; constants stay
/// slices of the mapping. Errors are ModelErrors that name the file and the place.
llvm::Expected<Imported> importModel(llvm::StringRef path, const ImportOptions &options = {});
llvm::Expected<Imported> importModel(std::shared_ptr<MappedFile> file, const ImportOptions &options = {});

} // namespace origo
