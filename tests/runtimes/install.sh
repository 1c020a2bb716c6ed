# To be sourced: brings the real runtimes, and other packages of the npm registry, for tests and benchmarks. What cannot be had
# ends the script, and so fails the test by its name.
lacks() {
  echo "FAILED: this test needs $1"
  exit 1
}
# npm_in FOLDER WORDS...: runs npm there.
npm_in() {
  local folder=$1
  command -v npm >/dev/null || lacks "npm (./setup --install)"
  shift
  (cd "$folder" && npm "$@") >"$folder/npm.log" 2>&1 && return
  grep -qE 'ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|ENETUNREACH|network' "$folder/npm.log" && lacks "the npm registry, which cannot be reached"
  cat "$folder/npm.log"
  exit 1
}
# fetch_runtimes SCRATCH [FOLDER]: the packages of FOLDER's package-lock.json (else of the one here, LiteRT) in
# SCRATCH/node_modules, and tflite-oracle.mjs, which looks for them there, beside them. Two tests may ask at once.
fetch_runtimes() {
  local scratch=$1 here from
  here=$(dirname "${BASH_SOURCE[0]}")
  from=${2:-$here}
  node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' 2>/dev/null || lacks "Node.js 18 or later (./setup --install)"
  mkdir -p "$scratch"
  exec 9>"$scratch/lock"
  flock 9
  # npm ci leaves the packages as the lock file says, or nothing.
  if ! cmp -s "$from/package-lock.json" "$scratch/installed.json"; then
    cp "$from/package.json" "$from/package-lock.json" "$scratch"
    npm_in "$scratch" ci --ignore-scripts --no-audit --no-fund
    cp "$from/package-lock.json" "$scratch/installed.json"
  fi
  [[ $from != "$here" ]] || cmp -s "$here/tflite-oracle.mjs" "$scratch/tflite-oracle.mjs" || cp "$here/tflite-oracle.mjs" "$scratch/"
  exec 9>&-
}
# fetch_archive SCRATCH PACKAGE DIGEST: the package's files, as they were published, in SCRATCH/package; of one that npm does not
# install here.
fetch_archive() {
  local scratch=$1 package=$2 digest=$3 archive
  mkdir -p "$scratch"
  archive=$scratch/$(tr -d @ <<<"${package%@*}" | tr / -)-${package##*@}.tgz
  exec 9>"$scratch/lock"
  flock 9
  [[ -f $archive ]] || npm_in "$scratch" pack "$package"
  [[ $(node -p 'crypto.createHash("sha512").update(fs.readFileSync(process.argv[1])).digest("base64")' "$archive") == "$digest" ]] || {
    echo "FAILED: $archive is not what was published"
    exit 1
  }
  # Once: other tests may read the files now.
  [[ -e $archive.unpacked ]] || { tar -xzf "$archive" -C "$scratch" && touch "$archive.unpacked"; }
  exec 9>&-
}
# fetch_netron SCRATCH: the reader of a Netron, which has no package of its own.
fetch_netron() {
  fetch_archive "$1" @visualdl/netron@2.2.0 Jq1aOPSFjdsqZ/jSUOeaR5FKn8r8sz+JLaVLQENycbLJsQ0q4ay0RHUJQn/PGeFigIvdAAQDzAQtl9DcKuEDIQ==
}
# fetch_native SCRATCH: TensorFlow Lite 2.9 with XNNPACK as a native library; prints nothing, sets `native` to the folder with
# its headers (include/) and libtensorflowlite_c.so (linux_amd64/).
fetch_native() {
  [[ $(uname -sm) == "Linux x86_64" ]] || lacks "x86-64 and Linux, which the library is for"
  fetch_archive "$1" tfjs-tflite-node@0.0.2 Zed9biOz9lkWsekvPwdEmxXnsjXJnZO8iOV0s2Y20QU15cwiPedzFEBYiGbK7smYpkJpQNNY9SukoKmUi9bk9w==
  native=$1/package/cc_deps
}
