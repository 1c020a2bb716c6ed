#include "origin/SourceLines.h"

#include "origin/OriginMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

using namespace origo;
using llvm::StringRef;

namespace {

/// From the folder of packages on; empty: it is in none.
StringRef withinPackages(StringRef path) {
  for (StringRef folder : {"site-packages/", "dist-packages/"})
    if (size_t at = path.rfind(folder); at != path.npos)
      return path.substr(at);
  if (size_t at = path.rfind("/python3."); at != path.npos && path.substr(0, at).ends_with("lib"))
    return path.substr(at + 1);
  return {};
}

/// A path behind what names a person or a machine.
StringRef withoutHome(StringRef path) {
  if (path.size() > 2 && path[1] == ':')
    path = path.drop_front(2);
  path = path.ltrim('/');
  auto [first, rest] = path.split('/');
  if (llvm::is_contained({"home", "Users", "users", "mnt", "tmp", "media", "Volumes"}, first))
    return rest.contains('/') ? rest.split('/').second : rest;
  return llvm::is_contained({"root", "content", "workspace", "app", "opt"}, first) ? rest : path;
}

} // namespace

void origin::makeRelative(std::vector<std::string> &files) {
  std::optional<StringRef> common;
  for (std::string &file : files) {
    std::replace(file.begin(), file.end(), '\\', '/');
    if (StringRef(file).starts_with("<"))
      continue;
    if (StringRef inPackage = withinPackages(file); !inPackage.empty()) {
      file = inPackage.str();
      continue;
    }
    file = withoutHome(file).str();
  }
  auto folderOf = [](StringRef path) { return path.substr(0, path.rfind('/') + 1); };
  for (const std::string &file : files)
    if (isUsersFile(file)) {
      StringRef folder = StringRef(file).contains('/') ? folderOf(file) : StringRef();
      while (common && !folder.starts_with(*common))
        common = folderOf(common->drop_back());
      common = common.value_or(folder);
    }
  size_t shared = common.value_or("").size();
  for (std::string &file : files)
    if (shared && isUsersFile(file))
      file.erase(0, shared);
}
