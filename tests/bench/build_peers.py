"""Builds tests/bench/peers into the cache, with the test environment's Go."""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).absolute().parent
sys.path.insert(0, str(HERE.parent / "testenv"))
import build  # noqa: E402
import place  # noqa: E402

goal = place.CACHE / "bench/peers"
goal.parent.mkdir(parents=True, exist_ok=True)
subprocess.run([build.find_go(), "build", "-p", "2", *build.COMPILE, "-o", str(goal), "."], cwd=HERE / "peers",
               env=build.go_environment(), check=True)
