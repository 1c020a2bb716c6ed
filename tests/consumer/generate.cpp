// A toy of a code generator: a line of C for each operator, with the layers of the source that it does the work of.
#include "origin/OriginReader.h"

#include <cctype>
#include <cstdio>

/// Names are any bytes, and must not end the comment.
static std::string forComment(std::string_view name) {
  std::string result(name);
  for (char &c : result)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '/')
      c = '_';
  return result;
}

int main(int argc, char **argv) {
  std::string error;
  auto reader = origo::origin::OriginReader::open(argc > 1 ? argv[1] : "", error);
  if (!reader) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  const origo::origin::OriginMap &map = reader->map();
  for (size_t g = 0; g < map.target.subgraphs.size(); ++g) {
    std::printf("void subgraph_%zu(void) {\n", g);
    for (const origo::origin::OperatorRow &op : map.target.subgraphs[g].operators) {
      std::printf("  %s(); /* from", forComment(op.op).c_str());
      for (uint32_t id : op.origins)
        if (auto *source = map.source.findOperator(id))
          std::printf(" %u %s,", id, forComment(map.source.nameOf(*source)).c_str());
      std::printf(" */\n");
    }
    std::printf("}\n");
  }
}
