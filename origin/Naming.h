#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

/// What the name of an operator or a tensor says of the layer that it is of: each exporter has its own way to write
/// that, and a row here. `origin_reader.h` has the same rows; `tests/naming.tsv` holds the two equal.
/// This header is installed and needs nothing but the standard library. Names are untrusted: time is linear in the
/// name.
namespace origo::origin {

/// Both are parts of the name. `scopes` has the path up to each module, the outermost first: "a", "a/b" of "a/b/c".
struct NamedLayer {
  std::array<std::string_view, 16> scopes; ///< no more than 16, for a name may consist of separators
  size_t depth = 0;                        ///< how many of them there are; 0: the name is in no scope
  std::string_view leaf;                   ///< what the scope calls the operator; may be empty
};

namespace naming {

using Text = std::string_view;

constexpr bool isDigit(char c) { return c >= '0' && c <= '9'; }

constexpr bool isNumber(Text text) {
  for (char c : text)
    if (!isDigit(c))
      return false;
  return !text.empty();
}

/// Without `mark` and a number, if it ends so.
constexpr Text withoutNumbered(Text text, Text mark) {
  size_t end = text.size();
  while (end && isDigit(text[end - 1]))
    --end;
  return end < text.size() && text.substr(0, end).ends_with(mark) ? text.substr(0, end - mark.size()) : text;
}

/// A part of a path that is a call of what is in it, and no layer: TensorFlow's, JAX's, and the prefix of a graph that
/// spox inlined.
constexpr bool isCall(Text part) {
  return part.starts_with("StatefulPartitionedCall") || part.starts_with("PartitionedCall") ||
         ((part.starts_with("jit(") || part.starts_with("pjit(")) && part.ends_with(")")) ||
         part.find("__Inline_") != part.npos;
}

struct Cut {
  Text path; ///< all that is scopes; empty: the name is none of this exporter's
  Text leaf;
};

/// A path whose last part is the operator.
constexpr Cut atLastSlash(Text name) {
  size_t at = name.rfind('/');
  return at == name.npos ? Cut() : Cut{name.substr(0, at), name.substr(at + 1)};
}

/// "module.Class/module.Class_instance;8": what comes behind ";" is a number, nothing, or other names behind ";;".
constexpr Cut byClasses(Text name) {
  size_t end = name.find(';');
  if (end == name.npos || !(end + 1 == name.size() || name[end + 1] == ';' || isNumber(name.substr(end + 1))))
    return {};
  return {name.substr(0, end), name.substr(name.rfind(';') + 1)};
}

/// "model.layers.0.mlp::mul". What PyTorch calls its own namespaces are no modules, nor is what stands where TICO knows
/// of none.
constexpr Cut byColons(Text name) {
  size_t at = name.rfind("::");
  if (at == name.npos)
    return {};
  Text path = name.substr(0, at);
  for (Text word : {"onnx", "aten", "prim", "tico", "unknown"})
    if (path == word)
      return {};
  return name.find('/') != name.npos ? Cut() : Cut{path, name.substr(at + 2)};
}

/// "hardsigmoid_2.tmp_0".
constexpr Cut byTemporary(Text name) {
  Text path = withoutNumbered(name, ".tmp_");
  if (path.size() == name.size() || path.find('/') != path.npos)
    return {};
  return {path, name.substr(path.size() + 1)};
}

/// "/encoder/layers.0/MatMul_output_0", and what an importer made for that node, "/encoder/MatMul_output_0/transpose".
constexpr Cut byModules(Text name) {
  if (!name.starts_with("/"))
    return {};
  constexpr Text mark = "_output_";
  if (size_t at = name.find(mark); at != name.npos) {
    size_t end = at + mark.size();
    while (end < name.size() && isDigit(name[end]))
      ++end;
    if (end > at + mark.size() && (end == name.size() || name[end] == '/'))
      name = name.substr(0, at);
  }
  return atLastSlash(name);
}

/// "jit(main)/attention/dot_general".
constexpr Cut byTraces(Text name) {
  return name.starts_with("jit(") || name.starts_with("pjit(") ? atLastSlash(name) : Cut();
}

/// "a/b/Conv2D__12", "a/b/Relu:0": with what the converter adds.
constexpr Cut byNumbered(Text name) {
  Text own = withoutNumbered(withoutNumbered(name, ":"), "__");
  return own.size() == name.size() ? Cut() : atLastSlash(own);
}

struct Rule {
  Text exporter;
  Cut (*cut)(Text name);
  char separator; ///< of modules
  bool ofWhole;   ///< of the whole name, though there is ";" in it
};

/// The first rule that finds a path counts. Converters join names of what they join by ";": of these, the first that is
/// in a scope.
inline constexpr Rule rules[] = {
    {"litert-torch", byClasses, '/', true},
    {"TICO", byColons, '.', false},
    {"Paddle", byTemporary, '/', false},
    {"PyTorch", byModules, '/', false},
    {"JAX", byTraces, '/', false},
    {"tf2onnx", byNumbered, '/', false},
    {"TensorFlow, Keras, Caffe2, keras2onnx, spox", atLastSlash, '/', false},
};

/// The scopes of a path. A number belongs to the list that it counts in, and the class of a module is one part,
/// whatever the separator.
constexpr void addScopes(Text path, char separator, NamedLayer &layer) {
  bool isClass = separator == '.' && path.starts_with("torch.nn.");
  auto endOf = [&](size_t at) {
    size_t end = isClass ? path.npos : path.find(separator, at);
    return end == path.npos ? path.size() : end;
  };
  size_t outermost = path.npos; // where it begins
  for (size_t at = 0, end; at < path.size() && layer.depth < layer.scopes.size(); at = end + 1) {
    end = endOf(at);
    Text part = path.substr(at, end - at);
    if (part.empty() || isCall(part))
      continue;
    for (size_t next;
         separator == '.' && end < path.size() && isNumber(path.substr(end + 1, (next = endOf(end + 1)) - end - 1));
         end = next)
      ;
    outermost = outermost == path.npos ? at : outermost;
    layer.scopes[layer.depth++] = path.substr(outermost, end - outermost);
  }
}

} // namespace naming

constexpr NamedLayer layerOfName(std::string_view name) {
  NamedLayer layer;
  auto apply = [&](const naming::Rule &rule, std::string_view text) {
    naming::Cut cut = rule.cut(text);
    if (cut.path.empty())
      return false;
    naming::addScopes(cut.path, rule.separator, layer);
    layer.leaf = cut.leaf;
    return layer.depth > 0;
  };
  for (const naming::Rule &rule : naming::rules)
    if (rule.ofWhole && apply(rule, name))
      return layer;
  for (size_t at = 0, end; at <= name.size(); at = end + 1) {
    end = name.find(';', at);
    end = end == name.npos ? name.size() : end;
    for (const naming::Rule &rule : naming::rules)
      if (!rule.ofWhole && apply(rule, name.substr(at, end - at)))
        return layer;
  }
  layer.leaf = name.substr(0, name.find(';'));
  return layer;
}

/// Each with "/" behind it, as tables have them: "a/", "a/b/" of "a/b/c".
inline std::vector<std::string> scopesOfName(std::string_view name) {
  NamedLayer layer = layerOfName(name);
  std::vector<std::string> scopes;
  for (size_t i = 0; i < layer.depth; ++i)
    scopes.push_back(std::string(layer.scopes[i]) + "/");
  return scopes;
}

/// The scope of what is in an operator, if there were any: "a/b/c/" of "a/b/c".
inline std::string ownScope(std::string_view name) {
  NamedLayer layer = layerOfName(name);
  return (layer.depth ? std::string(layer.scopes[layer.depth - 1]) + "/" : "") + std::string(layer.leaf) + "/";
}

} // namespace origo::origin
