#!/usr/bin/env bash
# Includes run only downward (docs/architecture.md), no files of origin/ need each other in a circle, the JSON library
# shows in no header, and installed headers need nothing but the standard library and each other.
# usage: include_direction.sh ROOT; names each offending file and line and exits with 1.
set -euo pipefail

sources() {
  find schema origin ir eval readers quantize import export passes report view commands tools python tests \
    \( -name '*.h' -o -name '*.cpp' -o -name '*.def' \) -print0 2>/dev/null | sort -z
}

direction() {
  sources | xargs -0 awk '
    BEGIN {
      # What the files of a folder may include. A folder below the top level that has no row here is part of the one
      # above it.
      below["schema"] = "schema"
      below["origin"] = "schema origin"
      below["origin/check"] = "schema origin origin/check"
      below["origin/codec"] = "schema origin origin/codec"
      below["origin/reader"] = "origin origin/codec"
      below["ir"] = "schema ir ir/shapes"
      below["ir/shapes"] = "schema ir ir/shapes"
      below["ir/edit"] = "schema ir ir/shapes ir/edit"
      below["ir/rewrite"] = "schema ir ir/shapes ir/edit ir/rewrite"
      below["ir/text"] = "schema ir ir/text"
      below["eval"] = "schema ir ir/shapes eval"
      below["readers"] = "readers"
      below["quantize"] = "schema ir ir/shapes eval readers quantize"
      below["import"] = "schema origin origin/codec ir ir/shapes import"
      below["export"] = "schema origin origin/codec ir ir/shapes ir/text export"
      below["passes"] = "schema ir ir/rewrite eval passes"
      # Rules see the notation and nothing else; what two phases share lies in passes/.
      split("simplify decompose recognise layout fuse quantize backend", phases, " ")
      for (i in phases)
        below["passes/" phases[i]] = "passes passes/" phases[i]
      below["passes/onnx"] = "schema passes passes/onnx"
      below["report"] = "schema origin ir report"
      below["report/origin"] = "schema origin origin/check ir report report/origin"
      below["report/profile"] = "ir report report/profile"
      below["report/formats"] = "ir report report/profile report/formats"
      below["report/metrics"] = "schema origin ir ir/shapes eval import report report/metrics"
      below["report/join"] = "schema origin origin/check ir import report report/origin report/profile report/metrics report/join"
      below["report/target"] = "schema ir ir/shapes eval report report/metrics report/target"
      below["report/errors"] = "schema origin ir eval import report report/metrics report/viewer report/errors"
      below["report/infer"] = "schema origin origin/check ir ir/shapes eval import report report/infer"
      below["report/viewer"] = "schema origin ir report report/metrics report/viewer"
      below["view"] = "schema origin origin/check ir ir/text import report report/origin report/metrics report/join report/profile report/target report/viewer view"
      for (room in below)
        rooms = rooms " " room
      below["commands"] = rooms " commands"
      below["tools"] = below["commands"] " tools"
      below["python"] = below["commands"] " python"
      below["tests"] = below["tools"] " tests"
    }
    function complain(what) { print FILENAME ":" FNR ": " what; bad = 1 }
    # The longest folder of a path that has a row.
    function roomOf(path) {
      while (sub(/\/[^\/]*$/, "", path))
        if (path in below)
          return path
      return ""
    }
    FNR == 1 { room = roomOf(FILENAME); files++ }
    /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
      header = $0
      sub(/^[^<"]*[<"]/, "", header)
      sub(/[>"].*/, "", header)
      if (FILENAME ~ /^origin\/(OriginMap|Naming|InlineVector|Word|OriginReader|origin_reader)\.h$/ && header ~ /\// && header !~ /^origin\/(OriginMap|Naming|InlineVector|Word)\.h$/)
        complain("an installed header may not include " header)
      target = roomOf(header)
      if (target != "") {
        if (index(" " below[room] " ", " " target " ") == 0)
          complain(room "/ may not include " header)
        includes++
      } else if (header ~ /^nlohmann\//) {
        if (room != "tests" && (room !~ /^(origin|report|quantize|view)(\/|$)/ || (FILENAME ~ /\.h$/ && header !~ /json_fwd/)))
          complain("the JSON library is private to the .cpp files of origin/, report/, quantize/ and view/, and headers name its types")
      } else if (room != "tests" && $0 ~ /"/ && header !~ /^(llvm|flatbuffers|gtest|gmock|benchmark)\//) {
        complain("write the folder too: \"" room "/" header "\"")
      }
    }
    END { printf "%d files, %d includes of our own\n", files, includes; exit bad || !files }'
}

# Of origin/: a header and the source file of its name are one.
circles() {
  sources | grep -z '^origin/' | xargs -0 awk '
    function unit(path) { sub(/\.[a-z]+$/, "", path); return path }
    /^[ \t]*#[ \t]*include[ \t]*"[^"]*\.h"/ {
      header = $0
      sub(/^[^"]*"/, "", header)
      sub(/".*/, "", header)
      if (unit(header) != unit(FILENAME))
        print unit(FILENAME), unit(header)
    }' | { tsort 2>&1 >/dev/null || :; } | sed 's/^tsort: //; s/^-: input contains a loop:/these include each other in a circle:/'
}

check() (
  cd "$1"
  failed=0
  direction || failed=1
  found=$(circles)
  [[ -z $found ]] || { echo "$found"; failed=1; }
  exit $failed
)

# It must be able to fail. Each lie is a file, what it includes, and the complaint.
lie=$(mktemp -d)
trap 'rm -rf "$lie"' EXIT
lies=(
  'ir/Up.h|"import/Import.h"|ir/ may not include import/Import.h'
  'ir/Graph.h|"ir/text/Text.h"|ir/ may not include ir/text/Text.h'
  'ir/new/Room.cpp|"ir/text/Text.h"|ir/ may not include ir/text/Text.h'
  'ir/shapes/Shape.cpp|"ir/text/Lexer.h"|ir/shapes/ may not include ir/text/Lexer.h'
  'ir/Peek.cpp|"ir/rewrite/Match.h"|ir/ may not include ir/rewrite/Match.h'
  'ir/Remove.cpp|"ir/edit/Editor.h"|ir/ may not include ir/edit/Editor.h'
  'ir/shapes/Remove.cpp|"ir/edit/Editor.h"|ir/shapes/ may not include ir/edit/Editor.h'
  'ir/edit/Cut.cpp|"ir/rewrite/Rewriter.h"|ir/edit/ may not include ir/rewrite/Rewriter.h'
  'ir/rewrite/Show.cpp|"ir/text/Text.h"|ir/rewrite/ may not include ir/text/Text.h'
  'ir/rewrite/Run.cpp|"eval/Evaluate.h"|ir/rewrite/ may not include eval/Evaluate.h'
  'quantize/Change.cpp|"ir/rewrite/Rewriter.h"|quantize/ may not include ir/rewrite/Rewriter.h'
  'readers/Tensor.cpp|"ir/Model.h"|readers/ may not include ir/Model.h'
  'import/Change.cpp|"ir/rewrite/Rewriter.h"|import/ may not include ir/rewrite/Rewriter.h'
  'export/Change.cpp|"ir/edit/Editor.h"|export/ may not include ir/edit/Editor.h'
  'eval/Change.cpp|"ir/rewrite/Build.h"|eval/ may not include ir/rewrite/Build.h'
  'report/target/Cut.cpp|"ir/edit/Editor.h"|report/target/ may not include ir/edit/Editor.h'
  'report/metrics/Best.cpp|"passes/Pipeline.h"|report/metrics/ may not include passes/Pipeline.h'
  'passes/Edit.cpp|"ir/edit/Editor.h"|passes/ may not include ir/edit/Editor.h'
  'passes/simplify/Cheat.cpp|"ir/Model.h"|passes/simplify/ may not include ir/Model.h'
  'passes/decompose/Cheat.cpp|"ir/rewrite/Build.h"|passes/decompose/ may not include ir/rewrite/Build.h'
  'passes/recognise/Cheat.cpp|"eval/Evaluate.h"|passes/recognise/ may not include eval/Evaluate.h'
  'passes/layout/Cheat.cpp|"passes/fuse/Linear.h"|passes/layout/ may not include passes/fuse/Linear.h'
  'passes/fuse/Cheat.cpp|"ir/edit/Editor.h"|passes/fuse/ may not include ir/edit/Editor.h'
  'passes/backend/Cheat.cpp|"ir/rewrite/Rewriter.h"|passes/backend/ may not include ir/rewrite/Rewriter.h'
  'ir/text/Word.cpp|"ir/shapes/Rules.h"|ir/text/ may not include ir/shapes/Rules.h'
  'eval/Run.cpp|"ir/text/Text.h"|eval/ may not include ir/text/Text.h'
  'origin/check/Law.cpp|"origin/codec/Json.h"|origin/check/ may not include origin/codec/Json.h'
  'origin/codec/Cheat.cpp|"origin/check/Check.h"|origin/codec/ may not include origin/check/Check.h'
  'origin/Listing.cpp|"origin/codec/Embedded.h"|origin/ may not include origin/codec/Embedded.h'
  'report/metrics/Show.cpp|"view/Page.h"|report/metrics/ may not include view/Page.h'
  'view/Change.cpp|"passes/Pipeline.h"|view/ may not include passes/Pipeline.h'
  'report/metrics/Cost.cpp|"report/viewer/Viewers.h"|report/metrics/ may not include report/viewer/Viewers.h'
  'origin/codec/Json.h|<nlohmann/json.hpp>|the JSON library is private'
  'ir/text/Json.h|<nlohmann/json_fwd.hpp>|the JSON library is private'
  'ir/text/Json.cpp|<nlohmann/json.hpp>|the JSON library is private'
  'commands/Say.cpp|"tools/Driver.h"|commands/ may not include tools/Driver.h'
  'python/Say.cpp|"tools/Driver.h"|python/ may not include tools/Driver.h'
  'report/join/Bare.cpp|"Join.h"|write the folder too'
  'origin/OriginMap.h|"origin/Files.h"|an installed header may not include origin/Files.h'
)
for row in "${lies[@]}"; do
  IFS='|' read -r file header _ <<<"$row"
  mkdir -p "$lie/$(dirname "$file")"
  echo "#include $header" >"$lie/$file"
done
# Each of these two is well placed.
echo '#include "origin/B.h"' >"$lie/origin/A.h"
echo '#include "origin/A.h"' >"$lie/origin/B.cpp"
blind() { echo "include_direction.sh does not see $1 any more: $said"; exit 1; }
if said=$(check "$lie"); then blind violations; fi
for row in "${lies[@]}"; do
  IFS='|' read -r file _ complaint <<<"$row"
  [[ $said == *"$file:1: $complaint"* ]] || blind "$file"
done
[[ $said == *"in a circle:"*origin/A*origin/B* || $said == *"in a circle:"*origin/B*origin/A* ]] || blind circles
rm "$lie/origin/B.cpp"
if said=$(check "$lie"); then blind violations; fi
[[ $said != *circle* ]] || { echo "include_direction.sh sees a circle where there is none: $said"; exit 1; }
check "$1"
