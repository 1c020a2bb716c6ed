#!/usr/bin/env bash
# Runs the commands of docs/walkthrough.md and compares what they print with the page: lines "    $ COMMAND", each followed by
# its output. Times differ, so of commands with a profile neither numbers nor the order of lines count.
# usage: walkthrough.sh BIN        ORIGO_BLESS=1 in the environment writes the page anew
# Exits with 77 (skipped) where there are no model files.
set -uo pipefail
bin=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
page=$root/docs/walkthrough.md
models=${ORIGO_SHARED:-$root/../shared}/models
if [[ ! -d $models ]]; then
  echo "models: walkthrough skipped, there is no folder $models (ORIGO_SHARED says where it is)"
  exit 77
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cp "$models/blazeface_front_f32.tflite" "$scratch"
cat >"$scratch/npu.json" <<'TARGET'
{"target": "npu", "ops": {
  "CONV_2D": {"filter": {"constant": true}}, "DEPTHWISE_CONV_2D": {"filter": {"constant": true}}, "ADD": {}, "RELU": {},
  "MAX_POOL_2D": {}, "RESHAPE": {}}}
TARGET
cd "$scratch" || exit 1
PATH=$bin:$PATH

commands=0
while IFS= read -r line; do
  if [[ $line == "    \$ "* ]]; then
    ((++commands))
    echo "$line"
    bash -o pipefail -c "${line#    \$ }" 2>&1 | sed '/^ *$/d; s/^/    /'
    status=${PIPESTATUS[0]}
    # 2 is a verdict, and 141 a tool whose reader has seen enough; anything else must not become a page.
    if ((status != 0 && status != 2 && status != 141)); then
      echo "models: the walkthrough's command ended with $status: $line" >&2
      exit 1
    fi
  elif [[ $line != "    "* ]]; then
    echo "$line"
  fi
done <"$page" >new.md

# timeless FILE: what must not change, a line a command.
timeless() {
  awk '
    function flush(   i, j, t) {
      for (i = 2; timed && i <= n; ++i)
        for (j = i; j > 1 && lines[j] < lines[j - 1]; --j) { t = lines[j]; lines[j] = lines[j - 1]; lines[j - 1] = t }
      for (i = 1; i <= n; ++i) print lines[i]
      n = 0
    }
    /^    \$ / { flush(); print; timed = /profile|--join/; next }
    /^    / { if (timed) { gsub(/-?[0-9]+\.[0-9]+/, "#"); gsub(/ +/, " ") } lines[++n] = $0; next }
    { flush(); print }
    END { flush() }' "$1"
}
if [[ -n ${ORIGO_BLESS-} ]]; then
  cp new.md "$page"
elif ! diff <(timeless "$page") <(timeless new.md); then
  echo "docs/walkthrough.md is stale: ORIGO_BLESS=1 $0 BIN writes it anew"
  exit 1
fi
echo "models: $commands commands of the walkthrough print what the page says"
((commands > 12))
