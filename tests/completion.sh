#!/usr/bin/env bash
# Completion of options in bash and zsh, and manual pages: what packages install, used as the shells and man(1) use it.
# usage: completion.sh BIN HELP   HELP: where tools/help_pages.sh wrote
set -uo pipefail
bin=$(cd "$1" && pwd)
help=$(cd "$2" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
PATH=$bin:$PATH
fail() { echo "FAILED: $*"; exit 1; }

# complete WORD...: what bash offers for the last word.
complete_bash() {
  bash -c 'source "$1/bash/${2##*/}"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _origo; printf "%s\n" "${COMPREPLY[@]}"' - "$help" "$@"
}
offers() { # EXPECTED WORD...: these, separated by spaces, and nothing else
  local expected=$1 actual
  shift
  actual=$(complete_bash "$@" | sort | paste -sd' ')
  [[ $actual == "$expected" ]] || fail "bash: $*: \"$actual\", not \"$expected\""
}
offers 'optimize' origo opt
offers 'diff dump' origo d
offers '--engine=' origo run --eng
offers '--engine=' circle-interpreter --eng
offers 'fast reference' origo run --engine =
offers 'fast' origo run --engine = f
offers 'dynamic' circle-quantizer --scheme d
offers '--json' origo net.circle --j
offers '--no-origin-json --no-run' origo optimize --no
offers '' origo run ne
# Every option of every tool is offered, and nothing else.
count=0
for tool in "$help"/bash/*; do
  tool=${tool##*/}
  [[ $tool == origo ]] && continue
  [[ $(complete_bash "$tool" - | sed 's/=$//' | sort) == $( ("$tool" --print-options |
    awk -F'\t' '$1 == "option" { print (length($2) == 1 ? "-" : "--") $2 }'; printf -- '--help\n--version\n') | sort) ]] ||
    fail "bash: $tool - does not offer the options of $tool --help"
  "$tool" --help | grep -cE "^  --?[A-Za-z]" >/dev/null || fail "$tool --help shows no option"
  ((++count))
done
((count >= 14)) || fail "only $count tools can be completed"

command -v zsh >/dev/null || fail "there is no zsh (./setup --install)"
# What zsh shows for a line and a tab, in a terminal of its own.
cat >capture.zsh <<'END'
zmodload zsh/zpty
zpty -b shell zsh -f -i
text=
collect() { # UNTIL SECONDS: what comes until this text is there
  local part until=$((SECONDS + $2))
  text=
  while ((SECONDS < until)); do
    while zpty -r -t shell part; do text+=$part; done
    [[ ${text//$'\r'/} == *"$1"* ]] && return 0
    sleep 0.02
  done
  return 1
}
zpty -w shell "PROMPT= RPROMPT=; stty cols 300 rows 200; fpath=($1 \$fpath); autoload -U compinit && compinit -u -D"
zpty -w shell "unsetopt auto_menu beep; bindkey '^I' complete-word; LISTMAX=10000; print -r REA''DY"
collect READY 60 || { print -r -- "zsh does not start: $text"; exit 1; }
count=0
while IFS='|' read -r line expected; do
  zpty -w -n shell $'\C-u'"$line"$'\t'
  collect "$expected" 20 || { print -r -- "\"$line\": no \"$expected\" in ${(V)text}"; exit 1; }
  ((++count))
done
zpty -d shell
print -r -- $count
END
shown=$(timeout 100 zsh -f capture.zsh "$help/zsh" <<'END'
origo opti|mize
origo d|Compares two models
origo run --eng|--engine
origo run --engine=|reference
circle-quantizer --scheme=|int16x8
circle2circle --no|-origin-json
END
)
[[ $shown == 6 ]] || fail "zsh: $shown"

# Pages are pages of man(1), without a warning, and nothing is lost.
pages=0
for page in "$help"/man1/*.1; do
  name=${page##*/} name=${name%.1}
  warnings=$(groff -man -Tutf8 -P-cbu -ww -K utf8 "$page" 2>&1 >rendered | grep -v 'cannot break line\|cannot adjust line\|can.t break line')
  [[ -z $warnings ]] || fail "$name.1: $warnings"
  for word in NAME SYNOPSIS DESCRIPTION; do
    grep -q "$word" rendered || fail "$name.1 has no $word"
  done
  ((++pages))
done
((pages >= 26)) || fail "only $pages manual pages"
groff -man -Tascii -P-cbu -K utf8 "$help/man1/circle2circle.1" 2>/dev/null >rendered
[[ $(grep -cE '^ +--[A-Za-z_-]+' rendered) -ge 100 ]] || fail "circle2circle.1 shows $(grep -cE '^ +--[A-Za-z_-]+' rendered) options"
grep -qF 'circle2circle -O1 net.tflite net.circle' rendered || fail "circle2circle.1 shows no example"
groff -man -Tascii -P-cbu "$help/man1/circle-check.1" 2>/dev/null | grep -c "a table of what stands in the way" >/dev/null || fail "circle-check.1 shows no example"
echo "completion: fine; $count tools in bash, zsh too, $pages manual pages"
