"""The cgroups under which the kubelets of a place make those of their pods, in each hierarchy of version 1 or in version 2."""
import os
import pathlib
import time

from place import Failure

_CONTROLLERS = ("cpuset", "cpu", "io", "memory", "pids", "hugetlb")
_REMOVE_SECONDS = 10


def _mounted(kind):
    mounts = (line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())
    return [pathlib.Path(fields[4]) for fields in mounts if fields[fields.index("-") + 1] == kind]


def _hierarchies():
    """Mount points of those with controllers. A machine with hierarchies of version 1 may have version 2 beside them."""
    return _mounted("cgroup") or _mounted("cgroup2")


def _pass_controllers_on(cgroup):
    """Version 2 gives a cgroup only the controllers that its parent passes on."""
    listed = cgroup / "cgroup.controllers"
    if listed.exists():
        here = listed.read_text().split()
        (cgroup / "cgroup.subtree_control").write_text(" ".join(f"+{c}" for c in _CONTROLLERS if c in here))


def create(name):
    """Creates the cgroup `name`, a relative path."""
    try:
        for hierarchy in _hierarchies():
            _pass_controllers_on(hierarchy)
            for depth in range(1, name.count("/") + 2):
                cgroup = hierarchy / "/".join(name.split("/")[:depth])
                cgroup.mkdir(exist_ok=True)
                _pass_controllers_on(cgroup)
    except OSError as error:
        raise Failure(f"a node needs cgroups of its own, and this machine does not let it make them: {error}") from error


def _tree(name):
    """The cgroups at and below `name` in all hierarchies, children first."""
    return [pathlib.Path(folder) for hierarchy in _mounted("cgroup") + _mounted("cgroup2")
            for folder, _, _ in os.walk(hierarchy / name, topdown=False)]


def thaw(name):
    """Lets processes end that were frozen with their cgroup: SIGKILL does not end them in version 1.

    runc freezes a container while it signals it, and may be killed in the middle.
    """
    for cgroup in _tree(name):
        try:
            if (cgroup / "freezer.state").exists():
                (cgroup / "freezer.state").write_text("THAWED")
        except OSError:  # the root of the hierarchy, or removed meanwhile
            pass


def remove(name):
    """Removes a cgroup and all below it. Their processes must have been killed; the kernel may need a moment to end them."""
    deadline = time.monotonic() + _REMOVE_SECONDS
    while left := _tree(name):
        thaw(name)  # a `down` that was killed may not have come to it
        for cgroup in left:
            try:
                cgroup.rmdir()
            except OSError as error:
                if time.monotonic() > deadline:
                    raise Failure(f"the cgroup {cgroup} cannot be removed: {error}") from error
        time.sleep(0.01)
