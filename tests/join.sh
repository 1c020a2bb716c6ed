#!/usr/bin/env bash
# Profiles from the command line: what only the tool as a whole does.
# usage: join.sh BIN
set -uo pipefail
bin=$(cd "$1" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
ln -s "$root/res" "$root/tests" .
PATH=$bin:$PATH

fail() { echo "FAILED: $*"; exit 1; }

circle2circle -O1 res/while.origo while.circle || fail "while.circle"

# A profile that names the model by the bytes of its file.
printf '[{"op_index": 1, "ns": 7, "model_sha": "%s"}]' "$(sha256sum while.circle | cut -d' ' -f1)" >own.json
origin-dump --join own.json --json while.circle | grep -q '"match":"exact"' || fail "own.json is not joined"
sed -i 's/"model_sha": "./"model_sha": "z/' own.json
origin-dump --join own.json while.circle >said 2>&1 && fail "a stale profile is joined"
grep -q '^origin-dump: error: own.json: stale profile: ' said || fail "$(<said)"

origin-dump --join tests/profiles/delegate.csv --json while.circle >out 2>said && fail "a foreign profile is joined"
[[ ! -s out ]] && grep -q '^origin-dump: error: tests/profiles/delegate.csv: foreign profile: ' said || fail "$(<said)"

# Names that are in no map come from the source.
circle2circle res/while.origo while.tflite
circle2circle -O1 --embed-origin=ids --no-origin-json while.tflite ids.circle || fail "ids.circle"
printf 'op_index,ns\n1,7\n' >one.csv
origin-dump --join one.csv --json ids.circle | grep -q '"by_operator": \[{"id":1,"name":"","ns":7}\]' || fail "names from nowhere"
origin-dump --join one.csv --json --source=while.tflite ids.circle | grep -q '"name":"result"' || fail "the source has names"
echo ok
