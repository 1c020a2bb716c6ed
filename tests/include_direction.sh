#!/usr/bin/env bash
# Includes run only downward (docs/architecture.md), the JSON library shows in no header, and installed headers need
# nothing but the standard library and each other.
# usage: include_direction.sh ROOT; names each offending file and line and exits with 1.
set -euo pipefail

check() (
  cd "$1"
  find schema origin ir eval import export passes report tools tests \
    \( -name '*.h' -o -name '*.cpp' -o -name '*.def' \) -print0 2>/dev/null | sort -z | xargs -0 awk '
    BEGIN {
      below["schema"] = "schema"
      below["origin"] = "schema origin"
      below["ir"] = "schema ir"
      below["eval"] = "schema ir eval"
      below["import"] = "schema origin ir import"
      below["export"] = "schema origin ir export"
      below["passes"] = "schema ir eval passes"
      below["report"] = "schema origin ir eval import report"
      below["tools"] = "schema origin ir eval import export passes report tools"
      below["tests"] = below["tools"] " tests"
    }
    function complain(what) { print FILENAME ":" FNR ": " what; bad = 1 }
    FNR == 1 { folder = FILENAME; sub(/\/.*/, "", folder); files++ }
    /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
      header = $0
      sub(/^[^<"]*[<"]/, "", header)
      sub(/[>"].*/, "", header)
      if (FILENAME ~ /^origin\/(OriginMap|Word|OriginReader|origin_reader)\.h$/ && header ~ /\// && header !~ /^origin\/(OriginMap|Word)\.h$/)
        complain("an installed header may not include " header)
      target = header
      sub(/\/.*/, "", target)
      if (target in below) {
        if (index(" " below[folder] " ", " " target " ") == 0)
          complain(folder "/ may not include " header)
        includes++
      } else if (target == "nlohmann") {
        if (folder != "tests" && (folder !~ /^(origin|report)$/ || FILENAME ~ /\.h$/))
          complain("the JSON library is private to the .cpp files of origin/ and report/")
      } else if (folder != "tests" && $0 ~ /"/ && header !~ /^(llvm|flatbuffers|gtest|gmock|benchmark)\//) {
        complain("write the folder too: \"" folder "/" header "\"")
      }
    }
    END { printf "%d files, %d includes of our own\n", files, includes; exit bad || !files }'
)

# It must be able to fail.
lie=$(mktemp -d)
trap 'rm -rf "$lie"' EXIT
mkdir "$lie/ir" "$lie/origin"
echo '#include "import/Import.h"' >"$lie/ir/Up.h"
echo '#include <nlohmann/json.hpp>' >"$lie/origin/Json.h"
echo '#include "origin/Files.h"' >"$lie/origin/OriginMap.h"
if said=$(check "$lie") || [[ $said != *"ir/Up.h:1: ir/ may not include import/Import.h"* ||
  $said != *"origin/Json.h:1:"* || $said != *"origin/OriginMap.h:1: an installed header"* ]]; then
  echo "include_direction.sh does not see violations any more: $said"
  exit 1
fi
check "$1"
