"""usage: start.py BIN_DIR -- measures the time from submitting a job to its first committed step (2 ranks, nano)."""
import statistics
import sys
import tempfile

import local


def main():
    ours, theirs = [], []
    for i in range(6):
        with tempfile.TemporaryDirectory() as folder:
            run = local.Muster(sys.argv[1], f"{folder}/muster", steps=100000)
            first = run.wait_for_step(1)[0]
            run.stop()
            peer = local.Torchrun(f"{folder}/torchrun", steps=3)
            peer_first = peer.wait_for_step(1)[0]
            peer.stop()
        if i > 0:  # the first pair warms the file cache
            ours.append(first[2] - run.submitted)
            theirs.append(peer_first[2] - peer.submitted)
    print("submit -> first step, 2 ranks, nano, warm file cache, median of 5")
    print(f"  muster run  {statistics.median(ours):6.2f} s   (min {min(ours):.2f}, max {max(ours):.2f})")
    print(f"  torchrun    {statistics.median(theirs):6.2f} s   (min {min(theirs):.2f}, max {max(theirs):.2f})")
    print(f"  ratio       {statistics.median(a / b for a, b in zip(ours, theirs)):6.3f}")


main()
