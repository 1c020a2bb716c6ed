#!/usr/bin/env bash
# Where the time goes in the ten networks that are nearest to the native runtime in the first table of docs/records/speed.md: their
# operators by kind, on one thread. Writes the table into the page with ORIGO_BLESS=1.
# usage: profile_benchmark.sh BIN_DIR MODELS_DIR
set -euo pipefail
usage="usage: profile_benchmark.sh BIN_DIR MODELS_DIR"
bin=${1:?$usage} models=${2:?$usage}
page=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/docs/records/speed.md
table=$(mktemp)
trap 'rm -f "$table"' EXIT
{
  echo "| network | native / here | where its time goes |"
  echo "|---|---|---|"
  awk -F'|' '/^\| network .* native \/ here \| interval/ { if (++tables > 1) exit } tables && /^\| `/ { gsub(/[ `]/, "", $2); print $5 + 0, $2 }' "$page" |
    sort -n | head -n 10 | while read -r ratio name; do
    "$bin/circle-interpreter" --engine=fast --runs="${RUNS:-200}" --seed=1 --profile "$models/$name.tflite" |
      awk -v name="$name" -v ratio="$ratio" '
        $5 ~ /^[0-9]+:[0-9]+$/ { time[$6] += $1; all += $1 }
        END { for (kind in time) if (time[kind] >= 0.02 * all) printf "%.0f %s\n", 100 * time[kind] / all, kind }' |
      sort -k1,1nr -k2 | awk -v name="$name" -v ratio="$ratio" '
        { list = list (NR > 1 ? ", " : "") $2 " " $1 " %" }
        END { printf "| `%s` | %.2f | %s |\n", name, ratio, list }'
  done
} >"$table"
cat "$table"
[[ -z ${ORIGO_BLESS-} ]] || {
  awk -v begin='<!-- tests/bench/profile_benchmark.sh -->' -v end='<!-- end -->' -v table="$table" '
    inside && $0 == end { inside = 0 }
    !inside
    $0 == begin { inside = 1; while ((getline line <table) > 0) print line }' "$page" >"$table.page" && mv "$table.page" "$page"
}
