#pragma once

#include "ir/Model.h"
#include "origin/Files.h"

#include "llvm/ADT/DenseMap.h"

#include <array>

namespace origo {

/// A payload that lies behind the tables, and the place in the tables that says where.
struct Reference {
  enum Kind : uint8_t {
    Inline,   ///< the flatbuffer offset of a byte vector
    ByOffset, ///< two numbers: position in the file, and size
    MapInline,
    MapByOffset, ///< the same for the origin map's payloads, which are the last ones
  };
  Kind kind;
  uint32_t at;     ///< of the vector offset or of the position, in the finished tables
  uint32_t sizeAt; ///< of the size
  const Payload *payload;
  uint64_t position = 0; ///< of the payload's first byte in the file
  bool repeated = false; ///< an earlier reference has these very bytes written
  bool isInline() const { return kind == Inline || kind == MapInline; }
  bool ofMap() const { return kind == MapInline || kind == MapByOffset; }
};

/// The flatbuffer of a model without the payloads, which never go through memory. References hold placeholders until
/// Layout patches them.
struct Tables {
  static constexpr unsigned mostMapEntries = 5;
  static constexpr uint64_t everythingInline = ~uint64_t(0);
  /// The flatbuffers verifier's limit.
  static constexpr uint64_t maxBytes = (uint64_t(1) << 31) - 1;

  bool tflite = false;
  Payload room; ///< where the builder has its bytes, if that is a file
  flatbuffers::FlatBufferBuilder builder;
  std::vector<Reference> references;
  std::vector<const Buffer *> buffers;              ///< by index in the file, without the map's; null: an empty one
  llvm::DenseMap<const Buffer *, Payload> replaced; ///< metadata that is written with other bytes than the model holds
  std::array<Payload, mostMapEntries> map; ///< the entries that are written; filled in after the tables are built

  llvm::MutableArrayRef<uint8_t> bytes() { return {builder.GetBufferPointer(), builder.GetSize()}; }
  const flatbuffers::Table *model() const {
    return flatbuffers::GetRoot<flatbuffers::Table>(builder.GetBufferPointer());
  }
  /// They are not looked at soon.
  void rest() const {
    if (room.file())
      room.file()->rest();
  }
  const Payload &payload(const Buffer &buffer) const {
    auto it = replaced.find(&buffer);
    return it == replaced.end() ? buffer.payload : it->second;
  }
};

struct TableOptions {
  Format format = Format::Circle;
  llvm::ArrayRef<const char *> mapEntries = {};    ///< names of what is embedded, last in the file
  uint64_t inlineBelow = Tables::everythingInline; ///< bigger payloads are referred to by position and size
  PayloadStore *store = nullptr;                   ///< where big tables lie; null, or where there is no room: in memory
};

/// Builds the tables of a numbered model that checkExpressible has accepted.
llvm::Expected<std::unique_ptr<Tables>> buildTables(const Model &model, const TableOptions &options);

/// Refuses by name what the format cannot express.
llvm::Error checkExpressible(const Model &model, Format format);

/// The bytes of `min_runtime_version`, raised to what changed operators need; nothing where they do already.
std::optional<std::string> raisedRuntimeVersion(const Model &model, llvm::ArrayRef<uint8_t> current);

/// Calls `use` with a view of the tables.
void withView(const Model &model, const Tables &tables, llvm::function_ref<void(const origin::ModelView &)> use);

} // namespace origo
