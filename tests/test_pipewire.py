#!/usr/bin/env python3
"""Runs a program in a session of PipeWire's of its own.

    test_pipewire.py PROGRAM

Skipped where pipewire, wireplumber or dbus-run-session is not installed, or cannot run here."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 20


def skip(why):
    print("Skipped:", why)
    sys.exit(77)


def begin(*command, environment):
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(there):
    until = time.monotonic() + PATIENCE_S
    while not there() and time.monotonic() < until:
        time.sleep(0.05)
    return there()


def main(program):
    for name in ("pipewire", "wireplumber", "pw-dump", "dbus-run-session"):
        if not shutil.which(name):
            skip(f"{name} is not installed.")
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **{name: folder for name in ("XDG_RUNTIME_DIR", "XDG_STATE_HOME", "HOME")}}
        servers = [begin("pipewire", environment=environment)]
        try:
            if not wait_for(lambda: (pathlib.Path(folder) / "pipewire-0").exists()):
                skip("pipewire does not run here.")
            servers.append(begin("dbus-run-session", "--", "wireplumber", environment=environment))
            if not wait_for(lambda: b"WirePlumber" in subprocess.run(["pw-dump"], env=environment,
                                                                     capture_output=True).stdout):
                skip("wireplumber does not run here.")
            return subprocess.run([program], env=environment).returncode
        finally:
            for server in reversed(servers):
                server.terminate()
                server.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
