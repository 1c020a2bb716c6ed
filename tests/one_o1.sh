#!/usr/bin/env bash
# -O1 leaves no more operators than ONE's, whose counts are in ../shared/bench/one-o1.tsv, of each model that ONE takes.
# Exempt are models of which ONE leaves no operator at all, and those that docs/one.md tells of.
# usage: one_o1.sh BIN_DIR      Exits with 77 (skipped) where the counts or the models are not there.
set -euo pipefail
bin=$(cd "$1" && pwd)
shared=${ORIGO_SHARED:-../shared}
[[ -f $shared/bench/one-o1.tsv && -d $shared/models ]] || { echo "models: skipped: there is no $shared/bench/one-o1.tsv"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0 models=0 sources=0 theirs=0 ours=0
while IFS=$'\t' read -r model before after _; do
  [[ $after =~ ^[1-9][0-9]*$ && -f $shared/models/$model ]] || continue
  "$bin/circle2circle" -O1 --no-origin-json --embed-origin=none -V "$shared/models/$model" "$scratch/out.circle" 2>"$scratch/log" ||
    { echo "FAILED: $model: $(<"$scratch/log")"; failed=1; continue; }
  count=$(sed -n 's/.* operators\{0,1\}, \([0-9]*\) after.*/\1/p' "$scratch/log")
  models=$((models + 1)) sources=$((sources + before)) theirs=$((theirs + after)) ours=$((ours + count))
  if ((count > after)) && ! grep -qF "\`$model\`" docs/one.md; then
    echo "FAILED: $model: $count operators, ONE leaves $after of $before"
    failed=1
  fi
done < <(tail -n +3 "$shared/bench/one-o1.tsv")
echo "models: $models: source $sources operators, ONE $theirs, ours $ours"
((models > 300)) || { echo "FAILED: only $models models were compared"; failed=1; }
exit $failed
