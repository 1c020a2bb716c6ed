// A toy of a code generator: a line of C for each operator, with the layers of the source that it does the work of.
#include "origin/OriginReader.h"

#include <cctype>
#include <cstdio>

using namespace origo::origin;

/// Names are any bytes, and must not end the comment.
static std::string forComment(std::string_view name) {
  std::string result;
  for (char c : name)
    result += std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '/' || c == '.' ? c : '?';
  while (result.find("*/") != result.npos)
    result.replace(result.find("*/"), 2, "??");
  return result;
}

int main(int argc, char **argv) {
  std::string error;
  auto reader = OriginReader::open(argc > 1 ? argv[1] : "", error);
  if (!reader) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  const OriginMap &map = reader->map();
  for (size_t g = 0; g < map.target.subgraphs.size(); ++g) {
    std::printf("void subgraph_%zu(void) {\n", g);
    const auto &operators = map.target.subgraphs[g].operators;
    for (size_t i = 0; i < operators.size(); ++i) {
      std::printf("  run_%zu(); /* %s:", i, forComment(operators[i].op).c_str());
      for (uint32_t id : operators[i].origins)
        if (const SourceOperator *op = map.source.findOperator(id))
          std::printf(" %s", forComment(map.source.nameOf(*op)).c_str());
      std::printf(" */\n");
    }
    std::printf("}\n");
  }
}
