#!/bin/sh
# Stands in for apptainer, which Debian does not have: it really runs commands, in bubblewrap, with the folders that are bound.
# FAKE_STATE: a directory for what it remembers. Processes of an instance are found again by FAKE_INSTANCE.
set -u
state=$(dirname "$0")/state
mkdir -p "$state"
case "$1${2:+ $2}" in
  --version*) echo 'apptainer version 1.3.4' ;;
  pull*)
    case $3 in *missing*) echo 'FATAL: While making image: manifest unknown' >&2; exit 255 ;; esac
    echo "$3" > "$2" ;;
  'instance start')
    shift 2
    echo "$*" >> "$state/starts"
    : > "$state/binds.new"
    while [ $# -gt 2 ]; do
      case $1 in
        --pids-limit) echo 'FATAL: container creation failed: cgroups are not available' >&2; exit 255 ;;
        --bind) printf '%s\n' "$2" >> "$state/binds.new"; shift ;;
        --overlay|--network|--cpus|--memory) shift ;;
      esac
      shift
    done
    [ -e "$1" ] || { echo "FATAL: could not open image $1" >&2; exit 255; }
    mv "$state/binds.new" "$state/$2.instance" ;;
  'instance list')
    names=$(cd "$state" && for f in *.instance; do [ -e "$f" ] && printf '{"instance":"%s"},' "${f%.instance}"; done)
    echo "{\"instances\":[${names%,}]}" ;;
  'instance stop')
    shift 4
    [ -e "$state/$1.instance" ] || { echo 'FATAL: no instance found' >&2; exit 255; }
    rm "$state/$1.instance"
    for f in $(grep -lz "FAKE_INSTANCE=$1" /proc/[0-9]*/environ 2>/dev/null); do
      pid=${f#/proc/}; kill -9 "${pid%/environ}" 2>/dev/null
    done
    exit 0 ;;
  exec*)
    while case $1 in instance://*) false ;; *) true ;; esac; do shift; done
    name=${1#instance://}; shift
    [ -e "$state/$name.instance" ] || { echo 'FATAL: no instance found' >&2; exit 255; }
    set -- --chdir /workspace "$@"
    while IFS= read -r bind; do
      source=${bind%%:*}; rest=${bind#*:}
      case $rest in *:ro) set -- --ro-bind "$source" "${rest%:ro}" "$@" ;; *) set -- --bind "$source" "$rest" "$@" ;; esac
    done < "$state/$name.instance"
    exec bwrap --clearenv --setenv PATH /usr/bin:/bin --setenv HOME /root --setenv FAKE_INSTANCE "$name" \
      --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 \
      --proc /proc --dev /dev --tmpfs /tmp --dir /root "$@" ;;
  *) echo "unknown: $*" >&2; exit 1 ;;
esac
