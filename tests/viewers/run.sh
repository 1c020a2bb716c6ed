#!/usr/bin/env bash
# Writes the files for viewers of every model and lets rules.mjs read them as the viewers do.
# usage: run.sh BIN samples|networks|models
# Of models every eighth is taken, of networks that the tree makes every second, of its small models every thirtieth; ORIGO_THOROUGH=1 in the environment takes them all.
set -uo pipefail
bin=$1 what=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/../folder.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
{
  case $what in
  samples) find "$root/res" -name '*.origo' | sort ;;
  networks) swept networks 30 2 ;;
  *) swept models 8 ;;
  esac
  echo "$here/names.origo"
} | node "$here/rules.mjs" "$bin" "$scratch"
