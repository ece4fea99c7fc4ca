#!/usr/bin/env python3
"""Runs test_obs.c under an X server of its own, whose GL computes on the CPU.

    test_obs.py TEST PLUGIN

Skipped where libobs was not there at build (TEST is -), or where the X server is not installed."""
import os
import shutil
import subprocess
import sys

TEST, *PLUGIN = sys.argv[1:]


def main():
    missing = "libobs" if TEST == "-" else None if shutil.which("Xvfb") else "Xvfb"
    if missing:
        print(f"Skipped: {missing} is not installed.")
        return 77
    reads, writes = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(writes), "-screen", "0", "640x480x24"], pass_fds=[writes],
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writes)
    try:
        with os.fdopen(reads) as told:
            display = told.readline().strip()
        if not display:
            print("Xvfb does not start")
            return 1
        return subprocess.run([TEST, *PLUGIN], env={**os.environ, "DISPLAY": f":{display}",
                                                    "LIBGL_ALWAYS_SOFTWARE": "1"}).returncode
    finally:
        server.terminate()
        server.wait()


sys.exit(main())
