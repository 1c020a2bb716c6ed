#pragma once

#include <string>
#include <vector>

namespace origo::origin {

/// Paths of programs that are absolute become relative to what those outside of packages have in common, and those of
/// packages begin with `site-packages`: so no name of a machine or a person is in them.
void makeRelative(std::vector<std::string> &files);

} // namespace origo::origin
