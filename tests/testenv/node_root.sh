#!/bin/sh
# usage: node_root.sh NAME FOLDER CACHE LOGS PAUSE
# Becomes the first process of a node, started in fresh namespaces: mounts the node's root and becomes PAUSE, which holds
# the namespaces and reaps. When it ends, the kernel ends all processes of the node and removes all its mounts.
set -eu
name=$1 folder=$2 cache=$3 logs=$4 pause=$5

# The root is the machine's, but what the node writes to it is its own and in memory.
hostname "$name"
mkdir -p "$folder/mount" "$folder/kubelet" "$folder/containerd" "$logs"
mount -t tmpfs -o mode=755 node "$folder/mount"
cd "$folder/mount"
mkdir upper work root
mount -t overlay -o lowerdir=/,upperdir=upper,workdir=work overlay root
cd root

mount -t proc proc proc
mount -t sysfs sysfs sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
mount --rbind /dev dev
mount -t tmpfs -o mode=755 run run

# The programs, images and volumes are on the disk: an overlay cannot be the upper layer of another.
bind() {
  mkdir -p ".$2"
  mount --rbind "$1" ".$2"
}
bind "$cache" "$cache"
bind "$folder/kubelet" /var/lib/kubelet
bind "$folder/containerd" /var/lib/containerd
bind "$logs" /var/log

# The kubelet reports it as the node's identity.
printf %s "$name" | md5sum | cut -c1-32 >etc/machine-id

# The kubelet sets these for the whole machine unless they have its values, so it is shown files that have them.
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  file="run/sysctl-$(basename "${setting%=*}")"
  echo "${setting#*=}" >"$file"
  mount --bind "$file" "proc/sys/${setting%=*}"
done

mkdir -p .old
pivot_root . .old
umount -l /.old
rmdir /.old
# The kubelet's volumes must reach containers that asked for mount propagation.
mount --make-rshared /
touch "$folder/mounted"
exec "$pause"
