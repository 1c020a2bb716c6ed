#!/usr/bin/env bash
# -O1 leaves no more operators of a model than a table says.
# usage: one_o1.sh BIN_DIR models     ONE's counts, tests/facts/one-o1.tsv, of each model that ONE takes. Exempt are models of which
#                                     ONE leaves no operator at all, and those that docs/one.md tells of
#        one_o1.sh BIN_DIR networks   of generated networks tests/networks-o1.tsv, which ORIGO_BLESS=1 in the environment writes anew
set -uo pipefail
bin=$(cd "$1" && pwd) what=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/tests/folder.sh"
models=$(folder_of "$what") || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0 compared=0 sources=0 theirs=0 ours=0
table=$root/tests/facts/one-o1.tsv least=300
if [[ $what == networks ]]; then
  table=$root/tests/networks-o1.tsv least=40
  if [[ -n ${ORIGO_BLESS-} ]]; then
    printf '# Operators of the networks that the tree generates, before and after -O1.\nmodel\tbefore\tafter\n' >"$table"
    for model in "$models"/*.tflite "$models"/*.circle; do
      "$bin/circle2circle" -O1 --no-origin-json --embed-origin=none -V "$model" "$scratch/out.circle" 2>"$scratch/log" &&
        sed -nE "s/.* ([0-9]+) operators?, ([0-9]+) after.*/$(basename "$model")\t\1\t\2/p" "$scratch/log"
    done >>"$table"
  fi
fi
while IFS=$'\t' read -r model before after _; do
  [[ $after =~ ^[1-9][0-9]*$ && -f $models/$model ]] || continue
  "$bin/circle2circle" -O1 --no-origin-json --embed-origin=none -V "$models/$model" "$scratch/out.circle" 2>"$scratch/log" ||
    { echo "FAILED: $model: $(<"$scratch/log")"; failed=1; continue; }
  count=$(sed -n 's/.* operators\{0,1\}, \([0-9]*\) after.*/\1/p' "$scratch/log")
  compared=$((compared + 1)) sources=$((sources + before)) theirs=$((theirs + after)) ours=$((ours + count))
  if ((count > after)) && ! { [[ $what == models ]] && grep -qF "\`$model\`" "$root/docs/one.md"; }; then
    echo "FAILED: $model: $count operators, $after of $before expected"
    failed=1
  fi
done < <(tail -n +3 "$table")
echo "models: $compared $what: source $sources operators, the table $theirs, ours $ours"
((compared >= least)) || { echo "FAILED: only $compared were compared"; failed=1; }
exit $failed
