#include "commands/BoundInputs.h"

#include "eval/Npy.h"
#include "origin/Fingerprint.h"
#include "origin/Sha256.h"
#include "schema/TensorTypes.h"

namespace origo::commands {

static llvm::Error refused(llvm::StringRef name, const llvm::Twine &why) {
  return makeError("--bind: input \"" + printable(name) + "\" " + why);
}

llvm::Expected<BoundTensors> readBound(llvm::ArrayRef<std::string> texts) {
  BoundTensors bound;
  for (llvm::StringRef text : texts) {
    auto [name, path] = text.rsplit('=');
    if (name.empty() || path.empty())
      return makeError("--bind: \"" + printable(text) + "\" is not NAME=x.npy");
    if (llvm::any_of(bound, [&name = name](const auto &other) { return other.first == name; }))
      return refused(name, "is bound twice");
    auto file = MappedFile::open(path);
    if (!file)
      return file.takeError();
    auto tensor = eval::readNpy((*file)->bytes());
    if (!tensor)
      return inFile(path, tensor.takeError());
    bound.emplace_back(name.str(), std::move(*tensor));
  }
  return bound;
}

llvm::Error takeShapes(const BoundTensors &bound, InputShapes &shapes) {
  for (const auto &[name, tensor] : bound)
    if (!shapes.try_emplace(name, tensor.shape.begin(), tensor.shape.end()).second)
      return refused(name, "is bound, and has its shape by that");
  return llvm::Error::success();
}

llvm::Error bindInputs(const BoundTensors &bound, Imported &imported) {
  if (bound.empty())
    return llvm::Error::success();
  Model &model = *imported.model;
  Subgraph &graph = *model.subgraphs.front();
  auto listing = std::make_shared<origin::Listing>(*imported.lineage.source);
  llvm::SmallVector<Value *> open;
  for (Value *input : graph.inputs) {
    auto found = llvm::find_if(bound, [&](const auto &one) { return input->name == one.first; });
    if (found == bound.end()) {
      open.push_back(input);
      continue;
    }
    const auto &[name, tensor] = *found;
    if (input->type != tensor.type)
      return refused(name,
                     "is of " + tensorTypeName(input->type) + ", and the array of " + tensorTypeName(tensor.type));
    origin::Sha256 sha;
    sha.update(tensor.bytes);
    uint32_t id = input->relations.front().tensor;
    listing->bound.push_back({id, sha.final()});
    input->isGraphInput = false;
    input->sourceTensors = model.sets.single(id);
    llvm::StringRef bytes(reinterpret_cast<const char *>(tensor.bytes.data()), tensor.bytes.size());
    input->buffer = &model.addBuffer(bytes.empty() ? Payload() : Payload::owned(bytes.str()));
  }
  model.setInputs(graph, open);
  llvm::sort(listing->bound, [](const auto &a, const auto &b) { return a.tensor < b.tensor; });
  listing->content = origin::contentWith(listing->content, listing->bound);
  imported.lineage.source = std::move(listing);
  imported.rememberEnds();
  return llvm::Error::success();
}

} // namespace origo::commands
