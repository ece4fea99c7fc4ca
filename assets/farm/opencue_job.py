#!/usr/bin/env python3
"""OpenCue: sends a job with PARTS frames, one for each part of a video file or of a sequence of pictures, and a layer
that joins the parts of a file. Nobody has tried it on a farm yet: only the description of the job has been looked at.

    opencue_job.py PARTS IN OUT [OPTIONS OF render]        # needs opencue-pyoutline, and CUEBOT_HOSTS
"""
import os
import shlex
import sys

from outline import Outline, cuerun
from outline.modules.shell import Shell

CORES = 4


def job(parts, source, output, options):
    sequence = "%" in output
    again = ["--skip-existing"] if sequence else ["--skip-existing", "--resume"]
    # OpenCue puts the frame's number in place of the token, before a shell reads the line.
    render = ["reverie", "render", source, output, "--shard", f"#IFRAME#/{parts}", *again, "--progress", "percent",
              "--threads", str(CORES), *options]
    outline = Outline("reverie-" + os.path.basename(source).replace("%", ""))
    layer = Shell("render", command=[shlex.quote(word) for word in render], range=f"1-{parts}", chunk=1, cores=CORES)
    outline.add_layer(layer)
    if not sequence:
        join = Shell("join", command=["reverie", "join", shlex.quote(output), "-y"], range="1-1", chunk=1)
        join.depend_all(layer)
        outline.add_layer(join)
    return outline


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    parts, source, output, *options = sys.argv[1:]
    cuerun.launch(job(parts, os.path.abspath(source), os.path.abspath(output), options), use_pycuerun=False)


if __name__ == "__main__":
    main()
