# What tests of command lines begin with: . "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" BIN
# They run in an empty folder that goes with them, with the tools in PATH; $root is the source tree.
set -uo pipefail
bin=$(cd "$1" && pwd)
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
export PATH=$bin:$PATH
fail() { echo "FAILED: $*"; exit 1; }
# TEXT COMMAND...: exit status 1, and the text in the last line on stderr, which is the only one unless there are notes.
refused_after_notes() {
  local text=$1 status=0
  shift
  "$@" >stdout 2>stderr || status=$?
  ((status == 1)) || fail "$*: exit status $status, not 1: $(<stderr)"
  [[ $(tail -n 1 stderr) == *"$text"* ]] || fail "$*: no last line with \"$text\": $(<stderr)"
}
refused() {
  refused_after_notes "$@"
  (($(wc -l <stderr) == 1)) || fail "${*:2}: not one line: $(<stderr)"
}
