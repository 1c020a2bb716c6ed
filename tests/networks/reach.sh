#!/usr/bin/env bash
# Writes the tables of docs/test-networks.md: what tests reach on public models and on the networks of the tree, and which faults
# in provenance (tests/mutants) are seen there.
# usage: reach.sh BIN MODELS
set -euo pipefail
bin=$(realpath "$1") models=$(realpath "$2")
page=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../docs/test-networks.md")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

ORIGO_MODELS=$models ORIGO_BLESS=1 "$bin/origo_tests" --gtest_filter='ReachPublicModels.*'

# killed [MODELS]: kind, faults and how many were seen, in the models that are swept.
killed() {
  env -u ORIGO_BLESS ${1:+ORIGO_MODELS="$1"} "$bin/mutants" >"$scratch/said" 2>/dev/null || true # what it finds is the test's matter
  awk '/^In the models that are swept/ { on = 1; next } on && /^kind/ { next } on && NF > 10 { print $1 "\t" $2 "\t" $2 - $(NF - 1) - $NF } /^all/ && on { exit }' "$scratch/said" | sort
}
killed "$models" >"$scratch/public"
killed >"$scratch/own"
{
  echo "| fault | public models: made, seen | networks of the tree: made, seen |"
  echo "|---|---|---|"
  join -t $'\t' "$scratch/public" "$scratch/own" | awk -F '\t' '{ print "| " $1 " | " $2 ", " $3 " | " $4 ", " $5 " |" }'
} >"$scratch/table"
sed -i -e '/^<!-- mutants -->$/,/^<!-- end of mutants -->$/{//!d}' -e "/^<!-- mutants -->\$/r $scratch/table" "$page"
