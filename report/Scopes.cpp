#include "report/Scopes.h"

#include "origin/Naming.h"

using namespace origo;
using namespace origo::report;

void Scopes::add(llvm::StringRef name) {
  const std::string *outer = nullptr;
  auto all = origin::scopesOfName(name);
  for (const std::string &scope : all) {
    if (outer)
      scopes[*outer] = true;
    scopes.try_emplace(scope, false);
    outer = &scope;
  }
}

std::vector<std::string> Scopes::scopesOf(llvm::StringRef name) const {
  std::vector<std::string> all = origin::scopesOfName(name);
  std::string own = origin::ownScope(name);
  if ((all.empty() || all.back() != own) && scopes.contains(own))
    all.push_back(own);
  return all;
}

std::vector<ScopeLine> Scopes::linesOf(llvm::StringRef name) const {
  std::vector<ScopeLine> lines;
  for (std::string &scope : scopesOf(name))
    lines.push_back({unsigned(lines.size() + 1), std::move(scope)});
  if (lines.empty())
    return {{1, none}};
  if (scopes.lookup(lines.back().key))
    lines.push_back({unsigned(lines.size() + 1), lines.back().key + " (rest)"});
  return lines;
}
