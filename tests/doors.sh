#!/usr/bin/env bash
# Files that people give to command lines, in tests/regressions: recipes, profiles, configurations, what is no model, names.
# usage: doors.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"
cases=$root/tests/regressions
circle2circle -O1 "$root/res/mobilenet_v2.origo" net.tflite 2>/dev/null || fail "res/mobilenet_v2.origo"

# Expressions of recipes find what Python's re.search finds.
recipes=$cases/doors/recipe-regex
for recipe in "$recipes"/r?.json; do
  circle-quantizer --recipe "$recipe" "$recipes/net.tflite" q.tflite 2>notes || fail "$recipe: $(<notes)"
  circledump q.tflite >text
  python3 - "$recipe" <<'END' || fail "$recipe: other layers than Python finds: $(<text)"
import json, re, sys
expression = json.load(open(sys.argv[1]))[0]["regex"]
text = open("text").read()
layers = re.findall(r"^  %(\S+): f32.* = (?:CONV_2D|FULLY_CONNECTED)\S*\(.*(?:filter|weights)=%(\S+?)[,)]", text, re.M)
assert len(layers) == 4, layers
types = dict(re.findall(r"^  %(\S+): (\w+)\[", text, re.M))
found = [name for name, weights in layers if re.search(expression, name)]
assert found and found == [name for name, weights in layers if types[weights] == "i8"], (expression, found)
END
  ! grep -q 'matches no layer\|was asked for' notes || fail "$recipe: $(<notes)"
done
refused 'takes too long to search "aaaaaa' timeout 20 circle-quantizer --recipe "$cases/hostile/recipe-286-bytes-states-times-name-length.json" \
  "$cases/hostile/recipe-long-name-20000.tflite" x.tflite

# An empty value in a configuration is as if it were not there.
circle2circle net.tflite net.circle 2>/dev/null
onecc -C "$cases/doors/empty-change_outputs.cfg" 2>stderr && [[ -e out.circle ]] || fail "an empty value: $(<stderr)"

# What is no model is named.
refused 'but compressed by gzip; unpack it with gunzip' origo "$cases/reports/c11_gz.tflite"
refused 'but a web page (HTML)' origo "$cases/reports/c11_html.tflite"
refused 'but a pointer of Git LFS, which stands in place of the model; run git lfs pull' origo "$cases/reports/c11_lfs.tflite"
refused 'but a zip archive' origo "$cases/reports/c11_zip.tflite"

# Profiles as they are copied and as older runtimes write them: each row is about its operator.
for profile in c53_logcat_benchmark.txt c53c_old_benchmark_start_col_index.txt c53d_old_benchmark_noindex_whole.txt c92_atrace_chrome.json; do
  origin-dump --join "$cases/reports/$profile" --csv net.tflite >rows 2>said || fail "$profile: $(<said)"
  how=exact
  [[ $profile != c53d* ]] || how=tensor
  (($(grep -c ",$how,\"" rows) == 65)) || fail "$profile: not 65 rows are $how: $(head -3 rows)"
done

# Names reach no terminal as they are, and a text of them is read again as what it was.
bidi=$cases/hostile/circledump-shows-bidi-raw.tflite c1=$cases/hostile/json-prints-C1-raw.tflite
raw=$'\xe2\x80\xae|\xe2\x81\xa6|\xe2\x80\x8e|\xd8\x9c|\xc2[\x80-\x9f]|\e'
circle2circle "$bidi" bidi.circle 2>/dev/null && circle2circle "$c1" c1.circle 2>/dev/null || fail "models with such names"
for model in "$bidi" "$c1" bidi.circle c1.circle; do
  for command in "circledump" "circledump --origins" "origo" "origo --json" "circle-metrics" "circle-metrics --per=operator" "circle-metrics --json" \
    "origin-dump --fingerprint"; do
    $command "$model" >shown 2>&1 || fail "$command $model: $(<shown)"
    ! LC_ALL=C grep -aqP "$raw" shown || fail "$command $model shows what a terminal obeys: $(cat -v shown | head -5)"
  done
done
for model in bidi.circle c1.circle; do
  for command in "origin-dump" "origin-dump --json" "origin-dump --summary" "origin-dump --ledger" "origin-dump --where=0 --json"; do
    $command $model >shown 2>&1 || fail "$command $model: $(<shown)"
    ! LC_ALL=C grep -aqP "$raw" shown || fail "$command $model shows what a terminal obeys: $(cat -v shown | head -5)"
  done
done
circledump "$bidi" >text.origo && grep -q '\\xe2\\x80\\xae' text.origo || fail "no name is escaped"
circle2circle "$bidi" whole.origo 2>/dev/null && circle2circle whole.origo again.circle 2>/dev/null || fail "the text form"
circledump bidi.circle | sed 1,2d >a && circledump again.circle | sed 1,2d >b && cmp a b || fail "the text form changes names"
python3 -c 'import json, subprocess, sys
names = [port["name"] for port in json.loads(subprocess.check_output(["origo", "--json", sys.argv[1]]))["inputs"]]
assert any("\\x" in name for name in names), names' "$c1" || fail "names in JSON"
echo "doors: fine"
