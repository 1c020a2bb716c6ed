#include "import/Import.h"

#include "import/Lineage.h"
#include "import/Source.h"

namespace origo {

static llvm::Expected<Imported> importFile(std::shared_ptr<MappedFile> file, const ImportOptions &options) {
  llvm::Expected<Source> source = openSource(std::move(file));
  if (!source)
    return source.takeError();
  source->payloads = options.payloads;
  Imported imported;
  if (options.tolerant)
    source->tolerated = &imported.notes;
  if (llvm::Error error = checkRules(*source))
    return error;
  imported.bytes = source->bytes().size();
  imported.model = buildModel(*source);
  if (source->unknownFields)
    imported.notes.push_back("fields of a later revision of the format are not carried over");
  if (llvm::Error error = takeLineage(*source, options, imported))
    return error;
  source->file->rest(); // all tables were read
  return imported;
}

void Imported::rememberEnds() {
  auto ends = [](const auto &values) {
    std::vector<EndAsRead> list;
    for (const Value *value : values) {
      EndAsRead &end = list.emplace_back();
      if (!value)
        continue;
      end.name = value->name.str();
      end.shape.assign(value->shape.begin(), value->shape.end());
      for (const Relation &relation : value->relations)
        end.sources.push_back(relation.tensor);
    }
    return list;
  };
  inputs = ends(model->subgraphs.front()->inputs);
  outputs = ends(model->subgraphs.front()->outputs);
}

bool Imported::hasOtherEnds() const {
  auto same = [](const EndAsRead &was, const Value *is) {
    if (!is)
      return was.name.empty() && was.shape.empty();
    bool related = llvm::any_of(
        is->relations, [&](const Relation &relation) { return llvm::is_contained(was.sources, relation.tensor); });
    return (is->name == was.name || related) && llvm::equal(was.shape, is->shape);
  };
  const Subgraph &graph = *model->subgraphs.front();
  auto allSame = [&](llvm::ArrayRef<EndAsRead> was, const auto &are) {
    return was.size() == are.size() && llvm::all_of(llvm::zip(was, are), [&](const auto &pair) {
             return same(std::get<0>(pair), std::get<1>(pair));
           });
  };
  return !allSame(inputs, graph.inputs) || !allSame(outputs, graph.outputs);
}

llvm::Expected<Imported> importModel(std::shared_ptr<MappedFile> file, const ImportOptions &options) {
  std::string path = file->path();
  llvm::Expected<Imported> imported = importFile(std::move(file), options);
  if (!imported)
    return inFile(path, imported.takeError());
  imported->rememberEnds();
  return imported;
}

llvm::Expected<Imported> importModel(llvm::StringRef path, const ImportOptions &options) {
  llvm::Expected<std::shared_ptr<MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.takeError();
  return importModel(std::move(*file), options);
}

} // namespace origo
