#!/bin/bash
# parallel.sh MANIFEST DIR N [options of heatskin batch]: a batch by GNU parallel, on this machine or, with
# PARALLEL_HOSTS=a,b,c, on machines that share DIR and are reached by ssh. N shards, of which each machine does as many at a
# time as it has cores (PARALLEL_JOBS changes that). Ctrl-C or TERM saves the states of fits; the same command goes on.
set -eu
if [ $# -lt 3 ]; then
  echo "usage: parallel.sh MANIFEST DIR N [options of heatskin batch]" >&2
  exit 2
fi
manifest=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
shards=$3
shift 3
hosts=()
[ -z "${PARALLEL_HOSTS:-}" ] || hosts=(--sshlogin "$PARALLEL_HOSTS" --workdir "$PWD")
# --termseq: parallel itself sends TERM once, waits a minute and only then kills.
exec parallel --will-cite --halt never --termseq TERM,60000,KILL,1000 ${PARALLEL_JOBS:+--jobs "$PARALLEL_JOBS"} "${hosts[@]}" \
  "${HEATSKIN:-heatskin}" batch "$manifest" -o "$folder" --shard "{}/$shards" --threads 1 --quiet "$@" ::: $(seq "$shards")
