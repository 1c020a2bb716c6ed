#!/usr/bin/env bash
# Profiles from the command line: what docs/profiles.md shows is what comes out, and what only the tool as a whole does.
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

# The page, command by command; blocks that measure time say something else each time.
sed -n '/^```json$/,/^```$/{/^```/d;p}' "$root/docs/profiles.md" >kernels.json
commands=0 command= expected=
finish() {
  [[ -z $command ]] && return
  local said
  said=$(eval "$command" 2>&1 | sed 's/ *$//') || fail "$command: $said"
  [[ $said == "$(printf %s "$expected")" ]] || fail "docs/profiles.md shows another output of $command:"$'\n'"$said"
  commands=$((commands + 1)) command= expected=
}
block=
while IFS= read -r line || [[ -n $line ]]; do
  if [[ $line != "    "* && -n $line ]]; then
    finish
    block=
  elif [[ $line == "    $ circle-interpreter"* || $block == timed ]]; then
    finish
    block=timed
  elif [[ $line == "    $ "* ]]; then
    finish
    command=${line#    $ } block=shown
  elif [[ $block == shown ]]; then
    expected+=${line#    }$'\n'
  fi
done < <(cat -s "$root/docs/profiles.md")
finish
((commands == 8)) || fail "$commands commands of the page were run, 8 expected"

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
echo "ok: $commands commands of the page"
