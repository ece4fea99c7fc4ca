"""What the scripts beside this one measure, as rows that page.py reads: {"machine": {...}, "rows": [...]}.

A row has a table ("networks", "pictures", "merges", "autoencoders", "range", "times"), the model and the name of what was
measured, and two figures, diffusers' and reverie's: numbers, or "overflows", or None, which nobody measured."""
import json
import math
import os
import pathlib
import subprocess

FIELDS = ["table", "model", "name", "diffusers", "reverie"]


def say(*command):
    """The first line that the command prints, or None."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=pathlib.Path(__file__).parent)
    except OSError:
        return None
    return done.stdout.partition("\n")[0].strip() or None if done.returncode == 0 else None


def machine():
    import diffusers
    import torch
    on_gpu = torch.cuda.is_available()
    about = {"device": torch.cuda.get_device_name() if on_gpu else "CPU",
             "driver": say("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader") if on_gpu else None,
             "torch": torch.__version__, "diffusers": diffusers.__version__, "CUDA": torch.version.cuda,
             "cuDNN": str(torch.backends.cudnn.version()) if on_gpu else None,
             "commit": os.environ.get("COMMIT") or say("git", "describe", "--always", "--dirty"),
             "date": say("date", "-u", "+%Y-%m-%d")}
    return {k: v for k, v in about.items() if v}


class Rows:
    def __init__(self):
        self.rows = []

    def add(self, table, model, name, diffusers, reverie):
        figures = ("overflows" if not math.isfinite(v) else v for v in (float(diffusers), float(reverie)))
        self.rows.append(dict(zip(FIELDS, (table, model, str(name), *figures))))

    def write(self, path):
        """Nothing where path is None."""
        if path:
            pathlib.Path(path).write_text(json.dumps({"machine": machine(), "rows": self.rows}, indent=1) + "\n")
