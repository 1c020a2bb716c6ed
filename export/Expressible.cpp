#include "export/Tables.h"

#include "ir/Versions.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <array>

namespace origo {

namespace {

class Checker {
public:
  explicit Checker(Format format) : format(format), name(format == Format::Tflite ? "tflite" : "circle") {}

  llvm::Error tensor(const Value &value) const {
    auto refuse = [&](const llvm::Twine &what) { return makeError(place(value), what); };
    if (!expresses(value.type))
      return refuse(typeText(value.type) + " cannot be expressed in " + name);
    for (const VariantType &variant : value.variants())
      if (!expresses(variant.type))
        return refuse("its variant's " + typeText(variant.type) + " cannot be expressed in " + name);
    if (!value.payload().hasBytes())
      return refuse("its bytes are known by a digest only, so the model cannot be written");
    if (value.externalBuffer && format == Format::Circle)
      return refuse("its bytes lie in another file (external_buffer), which circle cannot express");
    if (value.compression && format == Format::Tflite)
      return refuse("its compression cannot be expressed in tflite");
    const Quantization *q = value.quantization;
    if (q && q->details == (format == Format::Tflite ? Quantization::Details::MX : Quantization::Details::MultiAxis))
      return refuse(llvm::Twine(format == Format::Tflite ? "MX" : "multi-axis") +
                    " quantization cannot be expressed in " + name);
    return llvm::Error::success();
  }

  llvm::Error operation(const Operator &op) const {
    auto refuse = [&](const llvm::Twine &what) { return makeError(place(op), what); };
    if (format == Format::Tflite && static_cast<int32_t>(op.code) < 0)
      return refuse("the operator cannot be expressed in tflite");
    if (!op.customOptions().hasBytes())
      return refuse("its custom options are known by a digest only, so the model cannot be written");
    for (auto [options, unionName] :
         {std::pair(&op.options, "BuiltinOptions"), std::pair(&op.options2(), "BuiltinOptions2")}) {
      const wire::EnumValue *member = wire::Schema::circle().enumeration(unionName)->find(int64_t(options->member));
      if (options->table && (!member || !member->table))
        return refuse("its options (" + llvm::Twine(unionName) + " " + llvm::Twine(unsigned(options->member)) +
                      ") are of a later revision of the format");
      if (!options->member || !member)
        continue;
      if (format == Format::Tflite && !wire::Schema::tflite().table(member->name))
        return refuse("its " + member->name + " cannot be expressed in tflite");
      if (options->table)
        if (llvm::Error error = optionFields(op, *member->table, *options->table))
          return error;
    }
    return llvm::Error::success();
  }

  llvm::Error subgraph(const Subgraph &graph) const {
    if (graph.channelsFirst && format == Format::Tflite)
      return makeError(Place{.subgraph = static_cast<int>(graph.index)},
                       "the data format channels-first cannot be expressed in tflite");
    return llvm::Error::success();
  }

private:
  Format format;
  llvm::StringRef name;

  bool expresses(TensorType type) const {
    return format == Format::Tflite ? toTflite(type).has_value() : isInCircle(type);
  }

  static std::string typeText(TensorType type) {
    llvm::StringRef known = tensorTypeName(type);
    return known.empty() ? "type " + std::to_string(static_cast<int>(type)) : "type " + known.str();
  }

  llvm::Error optionFields(const Operator &op, const wire::TableType &type, const flatbuffers::Table &table) const {
    for (const wire::Field &field : type.fields) {
      if (!field.enumeration || !wire::isScalar(field.type))
        continue;
      int64_t value = wire::integer(table, field);
      if (field.enumeration->name == "TensorType" && !expresses(static_cast<TensorType>(value)))
        return makeError(place(op), "its " + field.name + ", " + typeText(static_cast<TensorType>(value)) +
                                        ", cannot be expressed in " + name);
      if (field.enumeration->name == "FullyConnectedOptionsWeightsFormat" && format == Format::Tflite &&
          value == static_cast<int64_t>(circle::FullyConnectedOptionsWeightsFormat::SHUFFLED16x1FLOAT32))
        return makeError(place(op), "its weights_format SHUFFLED16x1FLOAT32 cannot be expressed in tflite");
    }
    return llvm::Error::success();
  }

  static Place place(const Value &value) {
    return {.subgraph = static_cast<int>(value.subgraph()->index),
            .tensor = static_cast<int>(value.index),
            .name = value.name.str()};
  }
  static Place place(const Operator &op) {
    return {
        .subgraph = static_cast<int>(op.subgraph()->index), .op = static_cast<int>(op.index), .opName = op.opName()};
  }
};

using RuntimeVersion = std::array<unsigned, 3>;

std::optional<RuntimeVersion> parseVersion(llvm::StringRef text) {
  RuntimeVersion version{};
  llvm::SmallVector<llvm::StringRef, 3> parts;
  text.split(parts, '.');
  if (parts.size() > version.size())
    return std::nullopt;
  for (auto [part, number] : llvm::zip(parts, version))
    if (part.getAsInteger(10, number))
      return std::nullopt;
  return version;
}

} // namespace

llvm::Error checkExpressible(const Model &model, Format format) {
  Checker checker(format);
  for (auto &graph : model.subgraphs) {
    if (llvm::Error error = checker.subgraph(*graph))
      return error;
    for (const Value *value : graph->values)
      if (llvm::Error error = checker.tensor(*value))
        return error;
    for (const Operator &op : graph->operators)
      if (llvm::Error error = checker.operation(op))
        return error;
  }
  for (const MetadataEntry &entry : model.metadata)
    if (entry.buffer && !entry.buffer->payload.hasBytes())
      return makeError("the bytes of the metadata '" + printable(entry.name) +
                       "' are known by a digest only, so the model cannot be written");
  return llvm::Error::success();
}

std::optional<std::string> raisedRuntimeVersion(const Model &model, llvm::ArrayRef<uint8_t> current) {
  constexpr size_t width = 16;
  llvm::StringRef text = llvm::toStringRef(current).take_until([](char c) { return c == 0; });
  std::optional<RuntimeVersion> present = parseVersion(text);
  if (!present)
    return std::nullopt; // not the text that TensorFlow writes, so not ours to judge
  llvm::StringRef highest;
  RuntimeVersion needed = *present;
  for (auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      if (!op.passes && !op.synthetic)
        continue;
      llvm::StringRef runtime = runtimeOf(op.code, op.version);
      std::optional<RuntimeVersion> version = parseVersion(runtime);
      if (!runtime.empty() && version && *version > needed)
        needed = *version, highest = runtime;
    }
  if (highest.empty() || highest.size() > width)
    return std::nullopt;
  std::string raised = highest.str();
  raised.resize(width, '\0');
  return raised;
}

} // namespace origo
