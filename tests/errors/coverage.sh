#!/usr/bin/env bash
# How many tensors of the source have figures, of every network after -O1: live in the result, recovered, and without figures, with
# the reason. Of public models the table is compared with docs/errors.md.
# usage: coverage.sh BIN networks|models     ORIGO_BLESS=1 writes the table anew.
set -uo pipefail
bin=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/tests/folder.sh"
models=$(folder_of "$2") || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export bin scratch

one() {
  local model=$1 name out why
  name=$(basename "$model")
  out=$scratch/$name
  "$bin/circle2circle" -O1 "$model" "$out.o1.${name##*.}" 2>"$out.log" || { echo "| $name | | | not optimised: $(sed 's/.*: //' "$out.log") |"; return; }
  if ! "$bin/visq" -f "$model" -q "$out.o1.${name##*.}" --records 1 --json "$out.json" 2>"$out.log"; then
    echo "| $name | | | not run: $(tail -n 1 "$out.log" | sed -E 's/^visq: error: //; s/^record 0: //; s/  +/ /g') |"
    return
  fi
  why=$(grep -o '"unmeasured":"[^"]*"' "$out.json" | sort | uniq -c | sed -E 's/ *([0-9]+) "unmeasured":"(.*)"/\1: \2/' | paste -sd ';' | sed 's/;/; /g')
  echo "| $name | $(grep -c '"recovered":false' "$out.json") | $(grep -c '"recovered":true' "$out.json") | $why |"
  rm -f "$out".*
}
export -f one

{
  echo "| network | live | recovered | without figures |"
  echo "|---|---|---|---|"
  printf '%s\0' "$models"/*.tflite "$models"/*.circle | xargs -0 -n 1 -P "$(nproc)" bash -c 'one "$@"' _ | LC_ALL=C sort
} >"$scratch/table"
run=$(grep -c '| [0-9]* | [0-9]* |' "$scratch/table")
counts="of $run networks every tensor of numbers has figures, $(awk -F'|' '{ sum += $4 } END { print sum }' "$scratch/table") recovered ones"
if [[ $2 == networks ]]; then
  echo "models: $counts"
  # What has no figures has one of these reasons.
  ! sed '1,2d' "$scratch/table" | grep -vE '\| ([0-9]+: (is handed to a called subgraph|is not computed|has no elements|holds no numbers|has another shape in the result)(; )?)* ?\|$|not run: ' || exit 1
  ((run >= 60))
  exit
fi
page=$root/docs/errors.md
begin='<!-- tests/errors/coverage.sh -->' end='<!-- end -->'
if [[ -n ${ORIGO_BLESS-} ]]; then
  awk -v begin="$begin" -v end="$end" -v table="$scratch/table" '
    $0 == end { inside = 0 }
    !inside
    $0 == begin { inside = 1; while ((getline line <table) > 0) print line }' "$page" >"$scratch/page" && cp "$scratch/page" "$page"
fi
awk -v begin="$begin" -v end="$end" '$0 == end { inside = 0 } inside; $0 == begin { inside = 1 }' "$page" >"$scratch/said"
diff "$scratch/said" "$scratch/table" || { echo "FAILED: docs/errors.md has another table; ORIGO_BLESS=1 $0 BIN writes it anew"; exit 1; }
echo "models: $counts"
((run >= 45))
