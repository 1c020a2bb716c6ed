#!/usr/bin/env bash
# clang-tidy (.clang-tidy) on files of C++: those given, or those that differ from the upstream branch (or from ORIGO_SINCE), or with ORIGO_THOROUGH=1 all.
# usage: tidy.sh BUILD [FILE...]      BUILD keeps what files are compiled with, one by one
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
build=$1
shift
if (($#)); then
  files=("$@")
elif [[ ${ORIGO_THOROUGH-0} != 0 ]]; then
  mapfile -t files < <(git ls-files '*.cpp')
else
  base=$(git merge-base HEAD "${ORIGO_SINCE:-@{upstream\}}" 2>/dev/null || echo HEAD)
  mapfile -t files < <({ git diff --name-only --diff-filter=d "$base" -- '*.cpp'; git ls-files --others --exclude-standard '*.cpp'; } | sort -u)
fi
((${#files[@]})) || { echo "0 files of C++ differ from the upstream branch"; exit 0; }
command -v clang-tidy-14 >/dev/null || { echo "FAILED: this test needs clang-tidy-14 (./setup --install)"; exit 1; }
mkdir -p "$build"
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Debug >"$build/configure.log" 2>&1 && cmake --build "$build" --target schema_generated >>"$build/configure.log" 2>&1 ||
  { cat "$build/configure.log"; echo "FAILED: cmake"; exit 1; }
# What no target of this build compiles, such as fuzzers, is not known there.
known=$(printf '%s\n' "${files[@]}" | while IFS= read -r file; do grep -q "\"file\": \"$PWD/$file\"" "$build/compile_commands.json" && echo "$file"; done)
[[ -n $known ]] || { echo "${#files[@]} files, none of which this build compiles"; exit 0; }
xargs -d '\n' -P "$(nproc)" -n 1 clang-tidy-14 --quiet -p "$build" <<<"$known" 2>/dev/null || { echo "FAILED: see above"; exit 1; }
echo "$(wc -l <<<"$known") files of C++"
