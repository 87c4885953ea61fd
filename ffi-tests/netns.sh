#!/bin/sh
# Two hosts on one machine: network namespaces NAME-a and NAME-b with a cable between them, 10.98.0.1 and .2, fd98::1 and ::2.
#   netns.sh up NAME | down NAME
# Needs root and iproute2. Nothing touches the machine's own network.
set -eu
name=$2

down() {
  for host in a b; do
    ip netns del "$name-$host" 2>/dev/null || true
  done
}

case $1 in
  up)
    down
    trap 'down' EXIT
    for host in a b; do
      ip netns add "$name-$host"
      ip -n "$name-$host" link set lo up
    done
    ip link add eth0 netns "$name-a" type veth peer name eth0 netns "$name-b"
    number=0
    for host in a b; do
      number=$((number + 1))
      ip -n "$name-$host" addr add "10.98.0.$number/24" dev eth0
      ip -n "$name-$host" addr add "fd98::$number/64" dev eth0 nodad
      ip -n "$name-$host" link set eth0 up
    done
    # A cable carries something only some time after both ends are up.
    for host in a b; do
      until ip -n "$name-$host" -o link show dev eth0 | grep -q 'state UP'; do sleep 0.05; done
    done
    trap - EXIT
    ;;
  down) down ;;
  *) sed -n 2,4p "$0"; exit 2 ;;
esac
