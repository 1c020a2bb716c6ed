#include "commands/Optimize.h"

namespace origo::commands {

llvm::Expected<Pipeline> levelPipeline(char level) {
  if (level == '1')
    return Pipeline::o1();
  if (level == '0')
    return Pipeline();
  return makeError("no such level: -O" + llvm::Twine(level) + "; there are -O0 and -O1");
}

static llvm::Expected<const Pass *> passNamed(const std::string &name) {
  if (const Pass *pass = findPass(name))
    return pass;
  return makeError("no such pass: \"" + printable(name) + "\"; --list-passes tells the names");
}

llvm::Error addPasses(Pipeline &pipeline, const std::vector<std::string> &names) {
  for (const std::string &name : names) {
    auto pass = passNamed(name);
    if (!pass)
      return pass.takeError();
    pipeline.add(**pass);
  }
  return llvm::Error::success();
}

llvm::Error removePasses(Pipeline &pipeline, const std::vector<std::string> &names) {
  for (const std::string &name : names) {
    if (auto pass = passNamed(name); !pass)
      return pass.takeError();
    pipeline.remove(name);
  }
  return llvm::Error::success();
}

bool isCompiled(const Model &model) {
  static const llvm::StringRef customCodes[] = {"DISPATCH_OP", "edgetpu-custom-op", "ethos-u"};
  for (const MetadataEntry &entry : model.metadata)
    if (entry.name == "NPU_BYTE_CODE")
      return true;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      if (op.code == BuiltinOperator::CUSTOM && llvm::is_contained(customCodes, op.customCode()))
        return true;
  return false;
}

} // namespace origo::commands
