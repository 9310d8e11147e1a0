"""Network namespaces: each control plane has its own, with the same addresses inside. Needs root or sudo."""
import os
import pathlib
import shutil
import subprocess

import place

# The only address besides loopback; kubelets and pods reach the API server here.
ADDRESS = "10.99.0.1"


def privileged(argv):
    """argv prefixed so that it runs as root."""
    if os.getuid() == 0:
        return list(argv)
    if shutil.which("sudo") is None:
        raise place.Failure("a network namespace needs root: run as root, or install sudo")
    return ["sudo", "--non-interactive", *argv]


def _ip(*arguments):
    done = subprocess.run(privileged(["ip", *arguments]), capture_output=True, text=True)
    if done.returncode != 0:
        raise place.Failure(f"'ip {' '.join(arguments)}' failed: {done.stderr.strip() or done.returncode}")


def exists(namespace):
    return pathlib.Path("/run/netns", namespace).exists()


def create(namespace):
    """Creates a fresh namespace; an existing one was left by a crash and is removed."""
    remove(namespace)
    _ip("netns", "add", namespace)
    for command in ("link set lo up", "link add muster0 type veth peer name muster1", f"addr add {ADDRESS}/24 dev muster0",
                    "link set muster0 up", "link set muster1 up", "route add default dev muster0"):
        _ip("-n", namespace, *command.split())


def remove(namespace):
    if exists(namespace):
        _ip("netns", "delete", namespace)


def inside(namespace, argv, environment):
    """argv that runs `argv` inside the namespace as this user, with `environment` added.

    Uses nsenter and not `ip netns exec`, which hides /sys/fs/cgroup.
    """
    enter = ["nsenter", f"--net=/run/netns/{namespace}", "--"]
    if os.getuid() != 0:
        enter += ["setpriv", f"--reuid={os.getuid()}", f"--regid={os.getgid()}", "--init-groups"]
        environment = {**os.environ, **environment}  # sudo drops it
    assignments = [f"{name}={value}" for name, value in environment.items()]
    return privileged([*enter, "env", *assignments, *map(str, argv)])
