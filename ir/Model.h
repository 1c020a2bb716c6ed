#pragma once

#include "ir/Error.h"
#include "ir/IdSet.h"
#include "ir/PackedArray.h"
#include "ir/Payload.h"
#include "ir/Provenance.h"
#include "ir/SourceGraph.h"
#include "schema/OperatorTable.h"
#include "schema/TensorTypes.h"
#include "schema/WireSchema.h"
#include "schema/circle_generated.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/PointerUnion.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/TinyPtrVector.h"
#include "llvm/ADT/ilist_node.h"
#include "llvm/ADT/simple_ilist.h"
#include "llvm/Support/Allocator.h"

#include <deque>
#include <memory>
#include <optional>

namespace origo {
namespace rewrite {
class Build;
}

class Model;
class ConstantExpressions;
class DetachedOperator;
class Editor;
class Operator;
class Rewriter;
class Subgraph;
class Value;
struct Destinations;

using circle::BuiltinOperator;
using circle::TensorType;

enum class Format : uint8_t { Circle, Tflite };

/// The payload of tensors and metadata. Tensors that share a buffer keep sharing it; a buffer without bytes is normal.
struct Buffer {
  Payload payload;
  uint32_t sourceIndex = ~0u; ///< position in the file it was read from; ~0u for one that is new
  unsigned index : 31 = 0;    ///< scratch of export and print
  bool computed : 1 = false;  ///< by a rewrite, for one value only: the payload goes when the value goes
};

/// tflite's payloads in another file. Kept as they are where the target format has them.
struct ExternalBuffer {
  uint32_t id, group;
  uint64_t offset, length;
  llvm::StringRef packing;
};

/// What few objects have: a pointer for the others, for which it reads as a default T.
template <class T> class Rare {
public:
  Rare() = default;
  Rare(Rare &&) noexcept = default;
  Rare(const Rare &other) : box(other.box ? std::make_unique<T>(*other.box) : nullptr) {}
  Rare &operator=(Rare other) {
    box = std::move(other.box);
    return *this;
  }
  const T *operator->() const {
    static const T none{};
    return box ? box.get() : &none;
  }
  const T &operator*() const { return *operator->(); }
  T &make() { return box ? *box : *(box = std::make_unique<T>()); }
  void clear() { box = nullptr; }
  template <class Field> void set(Field T::*field, std::type_identity_t<Field> value) {
    if (!box && isNone(value))
      return;
    make().*field = std::move(value);
    if (box->empty())
      clear();
  }

private:
  std::unique_ptr<T> box;
  template <class Field> static bool isNone(const Field &field) {
    if constexpr (std::is_pointer_v<Field>)
      return !field;
    else
      return field.empty();
  }
};

/// Quantisation of a tensor. Immutable; lives in the model's arena or in the mapped input.
struct Quantization {
  enum class Details : uint8_t { None, Custom, MX, Blockwise, MultiAxis };
  llvm::ArrayRef<float> min, max, scale;
  llvm::ArrayRef<int64_t> zeroPoint;
  int32_t dimension = 0; ///< the channel axis where scale has several values
  Details details = Details::None;
  /// What the kinds of details have.
  struct More {
    llvm::ArrayRef<uint8_t> custom;                 ///< Custom
    int32_t axis = 0;                               ///< MX
    Value *scales = nullptr, *zeroPoints = nullptr; ///< Blockwise, MultiAxis; counted as uses
    int32_t rawScales = 0, rawZeroPoints = 0;       ///< their indices where no tensor stands behind them
    int32_t blockSize = 0;                          ///< Blockwise, MultiAxis
    llvm::ArrayRef<int32_t> dimensions;             ///< MultiAxis
    bool operator==(const More &other) const;       ///< but for the raw indices
  };
  Rare<More> more;
  bool quantized() const { return !scale.empty() || details != Details::None; }
};
bool sameQuantization(const Quantization *a, const Quantization *b); ///< scale, zero point, axis, details; not min/max

/// Type and shape of a variant's content.
struct VariantType {
  llvm::ArrayRef<int32_t> shape;
  TensorType type;
  bool hasRank;
};

/// One use of a value as an operand.
class Use {
public:
  Value *get() const { return value; }
  Operator *user() const { return reinterpret_cast<Operator *const *>(this - position)[-1]; }
  unsigned operandIndex() const { return position; }
  uint32_t lineage = 0; ///< of the lineages of the value, or of who computes it

private:
  friend class Value;
  friend class Operator;
  friend class Model;
  friend class Editor;
  friend class Rewriter;
  friend class rewrite::Build;
  friend class DetachedOperator;
  uint32_t position = 0; ///< among those of its user, which stands before the first of them
  Value *value = nullptr;
  Use *next = nullptr, **link = nullptr;
  void set(Value *v);
  static constexpr size_t roomFor(size_t count) { return sizeof(Operator *) + count * sizeof(Use); }
  /// In room of that many bytes; each is of nothing yet.
  static Use *make(void *room, Operator &user, size_t count);
};

/// A tensor: a graph input, the result of an operator, a variable or a constant.
class Value {
public:
  // What the format says. It is changed only through the Editor and the Rewriter.
  TensorType type = TensorType::FLOAT32;
  bool hasShape = false; ///< an absent shape differs from an empty one
  bool hasRank = false;
  NoRelation noRelation = NoRelation::None; ///< why `relations` is empty
  bool isGraphInput = false;
  bool isVariable : 1 = false;
  bool inexact : 1 = false; ///< of a constant, or an input of a callee: computed otherwise than the source computes it
  mutable bool named : 1 = false; ///< by a step or a list of destinations, perhaps for longer than it lives

private:
  bool buried : 1 = false; ///< erased: it has a way instead of uses

public:
  uint8_t compression = 0;     ///< circle's CompressionType
  uint32_t externalBuffer = 0; ///< tflite's id of an ExternalBuffer; 0: none
  unsigned index = 0;          ///< position in the file; set by Model::number(); unlisted: erased and numbered since
  static constexpr unsigned unlisted = ~0u;
  Dims shape;
  Name name;                ///< a label, never a key: may be empty, repeated, or not UTF-8
  Buffer *buffer = nullptr; ///< null: buffer 0
  const Quantization *quantization = nullptr;
  llvm::ArrayRef<int32_t> shapeSignature() const { return rare->shapeSignature; } ///< −1: unknown; empty: as shape
  const circle::SparsityParameters *sparsity() const { return rare->sparsity; }
  llvm::ArrayRef<VariantType> variants() const { return rare->variants; }
  void setShapeSignature(llvm::ArrayRef<int32_t> dims) { rare.set(&Rarities::shapeSignature, dims); }
  void setSparsity(const circle::SparsityParameters *sparsity) { rare.set(&Rarities::sparsity, sparsity); }
  void setVariants(llvm::ArrayRef<VariantType> variants) { rare.set(&Rarities::variants, variants); }

  Subgraph *subgraph() const { return parent; }
  Operator *producer() const { return definer; }
  unsigned resultIndex() const { return definerResult; }
  /// Has bytes that no operator computes, or has no elements at all; and is not a graph input or a variable.
  bool isConstant() const;
  const Payload &payload() const;               ///< of a constant; empty when there is none
  bool isStatic() const;                        ///< its shape is known and has no dynamic dimension
  std::optional<uint64_t> elementCount() const; ///< of a static shape, without overflow
  int rank() const { return static_cast<int>(shape.size()); }

  // Uses. `otherUses` counts graph outputs, signatures, intermediates, and quantisation details of other tensors.
  bool hasOneUse() const { return firstUse() && !uses->next && otherUses == 0; }
  bool unused() const { return !firstUse() && otherUses == 0; }
  bool isGraphOutput() const { return graphOutputs != 0; }
  bool isSignatureTensor() const { return signatureUses != 0; }
  /// Its name, order, type and shape are the model's interface.
  bool isInterface() const { return isGraphInput || graphOutputs || signatureUses; }
  unsigned useCount() const;
  template <class F> void forEachUse(F f) const {
    for (Use *u = firstUse(), *n; u; u = n)
      n = u->next, f(*u);
  }
  unsigned otherUses = 0, graphOutputs = 0, signatureUses = 0;

private:
  unsigned definerResult = 0;

public:
  // Provenance: stamped by import, the Editor and the Rewriter, read by export.
  IdSet sourceTensors, sourceOperators;                                 ///< of a constant: what it was computed from
  Relations relations;                                                  ///< best first
  Destinations *destinations() const { return buried ? way : nullptr; } ///< of an erased value
  void setDestinations(Destinations *list) {
    assert(!firstUse() && "what is used is not erased");
    buried = true;
    way = list;
  }
  llvm::StringRef synthetic() const { return rare->synthetic; } ///< reason of a constant that a pass invented
  void setSynthetic(llvm::StringRef reason) { rare.set(&Rarities::synthetic, reason); }
  llvm::ArrayRef<Lineage> lineages() const { return rare->lineages; } ///< of a constant
  std::vector<Lineage> &makeLineages() { return rare.make().lineages; }
  void forgetRarities() { rare.clear(); }
  void clearLineages() { rare.set(&Rarities::lineages, {}); }

  bool erased() const { return parent == nullptr; }

private:
  friend class Use;
  friend class Operator;
  friend class Model;
  friend class Editor;
  friend class Rewriter;
  friend class rewrite::Build;
  friend class Subgraph;
  Subgraph *parent = nullptr;
  Operator *definer = nullptr;
  union {
    Use *uses = nullptr;
    Destinations *way;
  };
  Use *firstUse() const { return buried ? nullptr : uses; }
  /// What few values have, so that it costs the others a pointer.
  struct Rarities {
    llvm::ArrayRef<int32_t> shapeSignature;
    const circle::SparsityParameters *sparsity = nullptr;
    llvm::ArrayRef<VariantType> variants;
    llvm::StringRef synthetic;
    std::vector<Lineage> lineages;
    bool empty() const {
      return shapeSignature.empty() && !sparsity && variants.empty() && synthetic.empty() && lineages.empty();
    }
  };
  Rare<Rarities> rare;
};

/// An options table in circle's layout: a slice of the mapped input, or built in the model's arena.
struct Options {
  uint8_t member = 0; ///< BuiltinOptions or BuiltinOptions2; may be set although there is no table
  const flatbuffers::Table *table = nullptr;
  bool empty() const { return !member && !table; }
  /// The table as T, or null. T is for example circle::Conv2DOptions and must be what `member` says.
  template <class T> const T *as() const { return reinterpret_cast<const T *>(table); }
};

class Operator : public llvm::ilist_node<Operator> {
public:
  BuiltinOperator code = BuiltinOperator::ADD;
  int32_t version = 1;
  Options options;
  llvm::StringRef customCode() const { return rare->customCode; }
  const Options &options2() const { return rare->options2; }
  const Payload &customOptions() const { return rare->customOptions; }
  llvm::ArrayRef<uint8_t> mutatingVariableInputs() const { return rare->mutatingVariableInputs; }
  llvm::ArrayRef<Value *> intermediates() const { return rare->intermediates; } ///< entries may be null (−1)
  void setCustomCode(llvm::StringRef code) { rare.set(&Rarities::customCode, code); }
  void setOptions2(Options options) { rare.set(&Rarities::options2, options); }
  void setCustomOptions(Payload options) { rare.set(&Rarities::customOptions, std::move(options)); }
  void setMutatingVariableInputs(llvm::ArrayRef<uint8_t> flags) { rare.set(&Rarities::mutatingVariableInputs, flags); }
  Options &makeOptions2() { return rare.make().options2; }

  const OperatorInfo *info() const { return operatorInfo(static_cast<int32_t>(code)); }
  std::string opName() const; ///< the schema's enumerator, or the decimal number outside it
  Subgraph *subgraph() const { return parent; }
  bool erased() const { return parent == nullptr; }
  unsigned numOperands() const { return operandCount; }
  Value *operand(unsigned i) const { return i < operandCount ? operandUses[i].get() : nullptr; } ///< null: absent
  llvm::MutableArrayRef<Use> operands() const { return {operandUses, operandCount}; }
  llvm::ArrayRef<Value *> results() const { return {resultArray(), resultCount}; } ///< entries may be null (absent)
  Value *result(unsigned i = 0) const { return i < resultCount ? resultArray()[i] : nullptr; }
  /// The subgraphs it may call, in the order of the row's fields.
  llvm::SmallVector<Subgraph *, 2> callees() const;
  /// A bit set of Effect, those of called subgraphs included.
  uint8_t effects() const;
  /// The code, but for a custom operator that is a builtin one under another name (converters write AddV2 of int64).
  BuiltinOperator builtinMeant() const;

  // Provenance.
  IdSet origins;
  IdSet calls; ///< source ids of the calls it was inlined from
  uint32_t passes = 0;
  unsigned index = 0; ///< position in its subgraph; set by Model::number()
  const Synthetic *synthetic = nullptr;
  llvm::StringRef wide() const { return rare->wide; } ///< reason of origins that the structure does not prove
  void setWide(llvm::StringRef reason) { rare.set(&Rarities::wide, reason); }
  llvm::ArrayRef<Lineage> lineages() const { return rare->lineages; } ///< `origins` is the union
  std::vector<Lineage> &makeLineages() { return rare.make().lineages; }
  void clearLineages() { rare.set(&Rarities::lineages, {}); }
  /// Source ids of operators whose work was in front of this one's, until a rewrite changed their places.
  IdSet movedPast() const { return rare->movedPast; }
  void setMovedPast(IdSet ids) { rare.set(&Rarities::movedPast, ids); }
  /// Of an erased operator: where its work went. Of one that a rewrite of this run made: the list that names it.
  Destinations *destinations = nullptr;

  int32_t debugMetadata = -1;
  int8_t customOptionsFormat = 0;
  bool largeCustomOptions = false; ///< where the file had the custom options
  bool inexact = false;            ///< computes its results in another order of float operations than the source did
  bool queued = false;             ///< on the Rewriter's worklist
  bool made = false;               ///< by a rewrite of this run
  bool named = false;              ///< by a list of destinations of an earlier run, perhaps for longer than it lives
  uint16_t maker = 0;              ///< the rule that made it in this phase, as the Rewriter numbers them
  uint8_t generation = 0;          ///< rewrites of this phase that made it what it is, one of the other's result

private:
  friend class Model;
  friend class Editor;
  friend class Rewriter;
  friend class rewrite::Build;
  friend class Subgraph;
  friend class Use;
  friend class DetachedOperator;
  uint8_t resultRoom = 0; ///< of the two arrays, or of more than can be said; 0: `onlyResult` is all there is
  uint16_t operandRoom = 0;
  unsigned operandCount = 0, resultCount = 0;
  Subgraph *parent = nullptr;
  Use *operandUses = nullptr;
  union {
    Value *onlyResult = nullptr;
    Value **resultValues;
  };
  Value **resultArray() { return resultRoom ? resultValues : &onlyResult; }
  Value *const *resultArray() const { return resultRoom ? resultValues : &onlyResult; }
  /// What few operators have.
  struct Rarities {
    llvm::StringRef customCode;
    Options options2;
    Payload customOptions;
    llvm::ArrayRef<uint8_t> mutatingVariableInputs;
    llvm::ArrayRef<Value *> intermediates;
    llvm::StringRef wide;
    std::vector<Lineage> lineages;
    IdSet movedPast;
    bool empty() const {
      return customCode.empty() && options2.empty() && customOptions.empty() && mutatingVariableInputs.empty() &&
             intermediates.empty() && wide.empty() && lineages.empty() && movedPast.empty();
    }
  };
  Rare<Rarities> rare;
};

/// Where the work of what a rewrite erased went; followed to what is live when the ledger is written. An operator that
/// was made and erased in the same run is replaced by the list of where its own work went, so that nothing points to
/// it.
struct alignas(8) Destinations {
  llvm::TinyPtrVector<llvm::PointerUnion<Operator *, Value *, Destinations *>> entries; ///< nearly always one
  void add(Value &value) {
    entries.push_back(&value);
    value.named = true;
  }
  void add(Operator &op) {
    entries.push_back(&op);
    op.named = true;
  }
};

class Subgraph {
public:
  llvm::StringRef name;
  int32_t debugMetadata = -1;
  bool channelsFirst = false;                 ///< data_format of circle files up to 0.6; carried, else never looked at
  llvm::SmallVector<Value *> inputs, outputs; ///< entries of inputs are not null; one value may be output twice
  llvm::simple_ilist<Operator> operators;     ///< in a topological order
  std::vector<Value *> values;                ///< in file order; erased ones are dropped by Model::number()
  llvm::SmallVector<uint32_t, 1> sources;     ///< source subgraphs it came from
  unsigned index = 0;
  Model &model() const { return *parent; }
  /// Bits of Effect of what it does when called; computed once, so conservative after rewrites.
  uint8_t effects() const;

private:
  friend class Model;
  friend class Rewriter;
  std::vector<Value *> spare; ///< values that are erased, and named by nothing; it may still list them
  mutable int knownEffects = -1;
  Model *parent = nullptr;
};

struct Signature {
  struct Entry {
    llvm::StringRef name;
    Value *value;           ///< null where the file names no tensor
    uint32_t rawTensor = 0; ///< the index of such a one
  };
  llvm::StringRef key;
  Subgraph *subgraph = nullptr; ///< null where the file names none
  uint32_t rawSubgraph = 0;
  std::vector<Entry> inputs, outputs;
  llvm::StringRef deprecatedTag = {}; ///< slot 3 of older files; carried, else never looked at
};

struct MetadataEntry {
  llvm::StringRef name;
  Buffer *buffer; ///< null: buffer 0
};

/// A model in memory. Owns everything it holds but the mapped files, which it keeps open. Operators and values are
/// never freed before the model. An erased one stays readable where the ledger is followed through it (`named`); any
/// other is used again by a later rewrite.
/// Construction (this class) is for import and the text form; removing is for the Editor, replacing for the Rewriter.
class Model {
public:
  Model() = default;
  Model(const Model &) = delete;

  Format format = Format::Circle;
  uint32_t version = 0;
  std::optional<llvm::StringRef> description;
  std::deque<std::unique_ptr<Subgraph>> subgraphs;
  std::vector<Signature> signatures;
  std::vector<MetadataEntry> metadata;
  std::vector<Buffer *> metadataBuffers; ///< the deprecated Model.metadata_buffer
  std::vector<Buffer *> buffers;         ///< in file order; buffers[0] is the empty one where the file has it
  std::vector<llvm::StringRef> externalGroups;
  std::vector<ExternalBuffer> externalBuffers;
  /// Opcode rows in file order, so that an untouched model keeps them; export adds what is missing and, in a changed
  /// model, leaves out what nothing uses.
  struct OpcodeRow {
    BuiltinOperator code;
    int32_t version;
    llvm::StringRef customCode;
    bool operator==(const OpcodeRow &) const = default;
  };
  std::vector<OpcodeRow> opcodes;
  Payload archive; ///< a zip file behind the flatbuffer

  // Building.
  Subgraph &addSubgraph();
  Value &addValue(Subgraph &graph);
  Buffer &addBuffer(Payload payload);
  /// Appends an operator. `operands` may hold null (absent), `results` too; results must not have a producer yet.
  Operator &addOperator(Subgraph &graph, BuiltinOperator code, llvm::ArrayRef<Value *> operands,
                        llvm::ArrayRef<Value *> results);
  void setInputs(Subgraph &graph, llvm::ArrayRef<Value *> values);
  void setOutputs(Subgraph &graph, llvm::ArrayRef<Value *> values); ///< counts the uses
  void addSignature(Signature signature);                           ///< counts the uses
  void setIntermediates(Operator &op, llvm::ArrayRef<Value *> values);
  void setQuantization(Value &value, const Quantization &quantization); ///< copies it, counts the uses of its details

  // Memory that lives as long as the model.
  llvm::StringRef copy(llvm::StringRef text);
  template <class T> llvm::MutableArrayRef<T> copy(llvm::ArrayRef<T> items) {
    T *data = arena.Allocate<T>(items.size());
    std::uninitialized_copy(items.begin(), items.end(), data);
    return {data, items.size()};
  }
  template <class T> T *create(T value) { return new (arena.Allocate<T>()) T(std::move(value)); } ///< never destroyed
  /// An options table: that of `base` (may have none) with scalar fields replaced. `union2`: of BuiltinOptions2.
  Options editOptions(Options base, llvm::ArrayRef<wire::ScalarEdit> edits, bool union2 = false);
  /// A table copied into the arena, in circle's layout.
  const flatbuffers::Table *copyTable(const wire::TableType &type, const flatbuffers::Table *table,
                                      llvm::ArrayRef<wire::ScalarEdit> edits = {});
  Destinations *addDestinations() { return &destinationStore.emplace_back(); }
  void keep(std::shared_ptr<void> resource) { kept.push_back(std::move(resource)); }
  void keep(std::shared_ptr<MappedFile> file) { files.push_back(std::move(file)); }
  /// What was read of the input so far need not stay in memory.
  void restFiles() const {
    for (const auto &file : files)
      file->rest();
  }

  // Provenance.
  IdSets sets;
  StepLists steps;
  PassLists passLists;
  std::deque<Tombstone> tombstones;                      ///< a vector would need twice the room while it grows
  std::vector<std::pair<uint32_t, IdSet>> cancelledWith; ///< by tombstone, ascending: operators that cancelled together
  SourceGraph sourceGraph;
  std::vector<Unneeded> unneeded; ///< in no order; each may be there twice
  /// How constants were computed that are not the source's. Null: nothing was folded.
  std::shared_ptr<ConstantExpressions> expressions;
  ConstantExpressions &makeExpressions();          ///< those that there are, or none yet
  uint32_t sourceOperators = 0, sourceTensors = 0; ///< ids are below these
  uint32_t run = 0;                                ///< position in the chain; 0 for the first
  uint32_t rewrites = 0;                           ///< applied in this run
  /// What equal operators and constants were that are one now.
  void forgetLineages();
  bool provenanceDropped = false; ///< tests only: the map was not wanted
  /// A rewrite is about to do without this operand of `user`, which it consumes: notes why, for each source operator
  /// that `user` stands for and that has what the operand stands for as its own operand. Linear in what there is to
  /// note.
  void noteUnneeded(const Operator &user, unsigned operand, UnneededReason reason);
  /// Sorts what was noted, by what is not needed, and drops what is there twice.
  void sortUnneeded();
  /// Sets that nothing in the graph or the ledger has are gone.
  void forgetUnusedSets();
  /// Makes this model its own source: ids are numbered over all subgraphs in file order, every relation is identity.
  void becomeSource();
  /// The ledger: calls `visit`, if there is one, for each source id that nothing live carries, operators first,
  /// ascending. An id that has no row either goes to `lost` (true: of a tensor), which is a broken invariant.
  void ledger(llvm::SmallVectorImpl<std::pair<bool, uint32_t>> &lost,
              llvm::function_ref<void(const LedgerRow &)> visit = nullptr);

  /// Drops erased values and buffers that went with them, and sets `index` in subgraphs, operators, values and buffers.
  void number();
  /// Puts tensors, buffers and opcode rows in the order in which operators use them, so that a changed model does not
  /// show in which order, or in how many runs, it was changed. Numbers.
  void sortByUse();
  size_t operatorCount() const;

private:
  friend class Editor;
  friend class Rewriter;
  friend class rewrite::Build;
  llvm::BumpPtrAllocator arena;
  llvm::SpecificBumpPtrAllocator<Operator> operatorArena;
  llvm::SpecificBumpPtrAllocator<Value> valueArena;
  std::deque<Buffer> bufferStore;
  std::deque<Quantization> quantizationStore;
  std::deque<Destinations> destinationStore;
  std::vector<std::shared_ptr<void>> kept;
  std::vector<std::shared_ptr<MappedFile>> files;
  llvm::DenseSet<llvm::StringRef> tables; ///< whole buffers in the arena; equal ones are one
  // Erased, and named by nothing: used again for what rewrites make, as are the values of Subgraph::spare.
  std::vector<Operator *> spareOperators;
  std::vector<Buffer *> spareBuffers;
  void attach(Operator &op, llvm::ArrayRef<Value *> operands, llvm::ArrayRef<Value *> results);
  /// Makes room for as many operands, in the room that there is if it suffices. All are absent.
  void makeOperands(Operator &op, size_t count);
  void makeResults(Operator &op, size_t count);
};

} // namespace origo
