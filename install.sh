#!/bin/sh
# Lays the built tree out for use: install.sh BUILD PREFIX [DESTDIR]. `make install PREFIX=…` calls it.
set -eu

build=$1
prefix=$2
root=${3:-}$prefix
source=$(dirname "$0")

version=2.28.9
runtime=5.2.0

# One file and the names that programs look for, as links to it.
library() {
  built=$1 file=$2
  shift 2
  install -m 755 "$build/$built" "$root/lib/$file"
  for name in "$@"; do
    ln -sf "$file" "$root/lib/$name"
  done
}

# A template with its placeholders filled in.
fill() {
  sed -e "s|@PREFIX@|$prefix|g" -e "s|@VERSION@|$version|g" -e "s|@MAJOR@|${version%%.*}|g" "$1" > "$2"
  chmod 644 "$2"
}

install -d "$root/lib/pkgconfig" "$root/lib/cmake/MCCL" "$root/include" "$root/bin"

library libmccl.so libmccl.so.$version libmccl.so.2 libmccl.so
library libmusart.so libmusart.so.$runtime \
  libmusart.so.5 libmusart.so libmusart.so.4 libmusart.so.1.0 libmusart.so.1.5 libmusa.so libmusa.so.1

install -m 644 "$source"/include/*.h "$root/include/"
if [ -d "$source/emu/include" ]; then
  cp -R "$source/emu/include/." "$root/include/"
fi

fill "$source/pkgconfig/mccl.pc.in" "$root/lib/pkgconfig/mccl.pc"
fill "$source/cmake/MCCLConfig.cmake.in" "$root/lib/cmake/MCCL/MCCLConfig.cmake"
fill "$source/cmake/MCCLConfigVersion.cmake.in" "$root/lib/cmake/MCCL/MCCLConfigVersion.cmake"

for tool in "$build"/*_perf "$build"/mccl_version; do
  if [ -x "$tool" ]; then
    install -m 755 "$tool" "$root/bin/"
  fi
done
