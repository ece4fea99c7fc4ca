#!/usr/bin/env python3
"""The examples for render farms: a clip in parts, of which one is killed, comes out as one render makes it.

    test_farm.py REVERIE EXAMPLES make|parallel|slurm|openjd

Runs the example of one scheduler in the folder EXAMPLES, for a video file and for a sequence of pictures, and checks
that the killed part alone is made again. Where the scheduler is not installed the test is skipped."""
import collections
import functools
import importlib.util
import os
import pathlib
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

FIRST, FRAMES = 101, 12
OPTIONS = ["--size", "32x32", "--threads", "1", "--seed-walk", "0.5"]
CODEC = ["--codec", "ffv1"]
# What schedulers call as reverie. It notes each call, and the first KILLS calls of the part VICTIM are killed once
# there is something that they have begun. If such a call has come to its end before, its file is taken away.
CALLED = """#!/bin/sh
echo "$*" >>"$CALLS"
case "$*" in *"--shard $VICTIM "*) ;; *) exec {reverie} "$@" ;; esac
[ "$(grep -c . "$CALLS.killed")" -lt "$KILLS" ] || exec {reverie} "$@"
echo "$*" >>"$CALLS.killed"
{reverie} "$@" &
while kill -0 $! 2>/dev/null && ! ls $BEGUN >/dev/null 2>&1; do sleep 0.01; done
kill -KILL $!
wait
rm -f $ENDED
kill -KILL $$
exit 1
"""


def run(*arguments, status=0, **more):
    done = subprocess.run([str(argument) for argument in arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, **more)
    if status is not None and done.returncode != status:
        sys.exit(f"{' '.join(map(str, arguments))}: status {done.returncode}, not {status}:\n{done.stdout}")
    return done.stdout


def skip(why):
    print("Skipped:", why)
    sys.exit(77)


class Farm:
    """A folder with a clip, a sequence of the same pictures, and what one render makes of each."""

    def __init__(self, reverie, examples, folder):
        self.reverie, self.examples, self.folder = reverie, examples, folder
        (folder / "bin").mkdir()
        (folder / "bin" / "reverie").write_text(CALLED.format(reverie=reverie))
        (folder / "bin" / "reverie").chmod(0o755)
        os.chdir(folder)
        for name in ("in", "out", "whole"):
            (folder / name).mkdir()
        clip = ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=32x32:r=25", "-frames:v", FRAMES]
        run(*clip, "-c:v", "libx264", "-g", "4", "clip.mp4")
        run(*clip, "-start_number", FIRST, "in/%04d.png")
        run(reverie, "render", "clip.mp4", "whole.mkv", *OPTIONS, *CODEC)
        run(reverie, "render", "in/%04d.png", "whole/%04d.png", *OPTIONS)

    def environment(self, victim, sequence, kills):
        (self.folder / "calls.killed").write_text("")
        file = f"{self.folder}/out.mkv.shard-{victim.replace('/', '-of-')}"
        begun, ended = (f"{self.folder}/out/*.png", "") if sequence else (file + ".part", file + "*")
        return {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "CALLS": f"{self.folder}/calls",
                "VICTIM": victim, "KILLS": str(kills), "BEGUN": begun, "ENDED": ended, "OMP_WAIT_POLICY": "passive"}

    def calls(self):
        """How often each part was rendered, by what stands after --shard."""
        calls = pathlib.Path("calls")
        lines = calls.read_text().splitlines() if calls.exists() else []
        calls.unlink(missing_ok=True)
        return dict(collections.Counter(line.split(" --shard ")[1].split()[0] for line in lines if " --shard " in line))


def pictures(path):
    """The hash of each picture of a file, or of a sequence."""
    numbers = ["-start_number", FIRST] if "%" in path else []
    lines = run("ffmpeg", "-v", "error", *numbers, "-i", path, "-map", "0:v:0", "-f", "framemd5", "-").splitlines()
    return [line.split(",")[-1] for line in lines if not line.startswith("#")]


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}: {found}, not {wanted}")


def expect_whole(sequence):
    output, whole = ("out/%04d.png", "whole/%04d.png") if sequence else ("out.mkv", "whole.mkv")
    expect(output, pictures(output), pictures(whole))
    expect("number of pictures", len(pictures(whole)), FRAMES)


def options(sequence):
    return OPTIONS + ([] if sequence else CODEC)


def names(sequence):
    return ("in/%04d.png", "out/%04d.png") if sequence else ("clip.mp4", "out.mkv")


def counts(parts, of_victim):
    """How often each part is to be rendered; the second one is the victim."""
    return {f"{i}/{parts}": of_victim if i == 2 else 1 for i in range(1, parts + 1)}


def make(farm, sequence):
    source, output = names(sequence)
    parts = 2 if sequence else 3
    command = ["make", "-k", "-j2", "-f", farm.examples / "Makefile", f"IN={source}", f"OUT={output}", f"PARTS={parts}",
               "OPTIONS=" + " ".join(options(sequence))]
    environment = farm.environment(f"2/{parts}", sequence, kills=1)
    run(*command, status=2, env=environment)
    expect("make", farm.calls(), counts(parts, 1))
    run(*command, env=environment)
    expect("make after a kill", farm.calls(), {f"2/{parts}": 1})
    run(*command, env=environment)
    expect("make once more", farm.calls(), {})
    # After other OPTIONS, and after those of before, everything is made anew.
    for more in (" --seed 7", ""):
        run(*command[:-1], command[-1] + more, env=environment)
        expect("make with" + more, farm.calls(), counts(parts, 1))
    make_with_other_parts(farm, sequence, command, environment)
    changed = "in/0104.png" if sequence else "clip.mp4"
    # What replaces IN, or a picture of it, may also be older.
    for times in (None, (1, 1)):
        others = {path: path.stat().st_mtime_ns for path in pathlib.Path("out").glob("0*.png")}
        os.utime(changed, times)
        run(*command, env=environment)
        expect("make after a change of IN", farm.calls(), counts(parts, 1))
        made_anew = [path.name for path, time_ns in others.items() if path.stat().st_mtime_ns != time_ns]
        expect("pictures made again", made_anew, ["0104.png"] if sequence else [])
    run(*command, env=environment)
    expect("make after that", farm.calls(), {})
    if sequence:
        make_with_gap(command, environment)
    else:
        for path in pathlib.Path(".").glob("out.mkv.shard*"):
            path.unlink()
        run(*command, env=environment)
        expect("make without parts", farm.calls(), {})


def make_with_other_parts(farm, sequence, command, environment):
    """Parts that were made, or begun, before OPTIONS changed are made anew, also if PARTS was another one meanwhile."""
    parts = int(command[-2].split("=")[1])
    if not sequence:
        for end in ("", ".json"):
            os.rename(f"out.mkv.shard-2-of-{parts}{end}", f"out.mkv.shard-2-of-{parts}.part{end}")
    for count, more in ((4, " --seed 7"), (parts, " --seed 7"), (4, ""), (parts, "")):
        run(*command[:-2], f"PARTS={count}", command[-1] + more, env=environment)
        expect(f"make of {count} parts with{more}", farm.calls(), {f"{i}/{count}": 1 for i in range(1, count + 1)})
    if sequence:
        expect("marks", list(pathlib.Path("out").glob(".shard*.anew")), [])
        return
    # A mark stays where make is interrupted after its part was made.
    made = pathlib.Path("out.mkv.shard-1-of-3")
    inode = made.stat().st_ino
    pathlib.Path(f"{made}.anew").touch()
    os.utime(f"{made}.anew", (1, 1))
    pathlib.Path("out.mkv.job").touch()
    run(*command, env=environment)
    expect("make after an interruption", farm.calls(), counts(parts, 1))
    expect("a part is as it was", made.stat().st_ino, inode)
    expect("marks of parts", list(pathlib.Path(".").glob("*-of-3.anew")), [])


def make_with_gap(command, environment):
    """Without a picture of IN its part fails again and again, and once it is there it alone is made."""
    shutil.rmtree("out")
    os.mkdir("out")
    os.rename("in/0104.png", "later.png")
    for _ in range(2):
        said = run(*command, status=2, env=environment)
        expect("missing picture", "missing: 0104.png" in said, True)
        expect("pictures", len(list(pathlib.Path("out").glob("0*.png"))), FRAMES - 1)
    os.rename("later.png", "in/0104.png")
    pathlib.Path("in/0104.png").touch()
    run(*command, env=environment)


def parallel(farm, sequence):
    """On another machine, as far as Parallel knows: its ssh is a script that runs the command here.

    Like sshd, that script sets SHELL: where it is not set, Parallel runs nothing and reports success. A part of the
    file is killed as often as Parallel tries it, which is for Parallel to say."""
    ssh = farm.folder / "bin" / "ssh_here"
    ssh.write_text('#!/bin/sh\nwhile [ "$1" != node1 ]; do shift; done\nshift\n[ "$1" != -- ] || shift\n'
                   'SHELL=/bin/sh exec sh -c "$*"\n')
    ssh.chmod(0o755)
    source, output = names(sequence)
    parts, kills = (2, 0) if sequence else (3, 1000)
    command = [farm.examples / "parallel.sh", parts, source, output, *options(sequence)]
    environment = {**farm.environment(f"2/{parts}", sequence, kills), "NODES": "node1", "JOBS": "2",
                   "JOBLOG": f"{sequence}.joblog", "PARALLEL_SSH": str(ssh),
                   "PARALLEL_HOME": str(farm.folder / "parallel")}
    if not kills:
        run(*command, env=environment)
        expect("Parallel", farm.calls(), counts(parts, 1))
        return
    run(*command, status=1, env=environment)
    called = farm.calls()
    expect("Parallel, tries of the killed part", called[f"2/{parts}"] >= 2, True)
    expect("Parallel", called, counts(parts, called[f"2/{parts}"]))
    run(*command, env={**environment, "KILLS": "0"})
    expect("Parallel after kills", farm.calls(), {f"2/{parts}": 1})
    run(farm.reverie, "join", "out.mkv")


def openjd(farm, sequence, program):
    source, output = names(sequence)
    first, victim, last = (FIRST, "105-108", 112) if sequence else (0, "4-7", 11)
    beyond = last + 8  # two tasks more, for which there are no frames

    def job(output, first, last):
        command = [*program, "run", farm.examples / "openjd.yaml", "--step", "Join", "--run-dependencies"]
        for parameter in (f"InputFolder={farm.folder}", f"Input={source}", f"OutputFolder={farm.folder}",
                          f"Output={output}", f"Frames={first}-{last}", "FramesPerTask=4",
                          "Options=" + " ".join(options(sequence))):
            command += ["-p", parameter]
        return command

    command = job(output, first, beyond)
    environment = farm.environment(victim, sequence, kills=1)
    run(*command, status=1, env=environment)
    expect("OpenJD", farm.calls(), {f"{first}-{first + 3}": 1, victim: 1})
    made = pathlib.Path(output % first if sequence else "out.mkv.shard-0-3")
    when = made.stat().st_mtime_ns
    said = run(*command, env=environment)
    expect("OpenJD after a kill", farm.calls(), {f"{first}-{first + 3}": 1, victim: 1, f"{last - 3}-{last}": 1,
                                             f"{last + 1}-{last + 4}": 1, f"{last + 5}-{beyond}": 1})
    expect("task beyond the end", f"--shard {last + 1}-{last + 4}: there is nothing to do" in said, True)
    expect("time of what was there", made.stat().st_mtime_ns, when)
    expect("progress", "openjd_progress: 100" in said, True)
    if not sequence:  # with other chunks in the same folder
        run(*command, "-p", "FramesPerTask=6", env=environment)
        expect("OpenJD with other chunks", "0-4" in farm.calls(), True)
        expect_whole(sequence)
    if sequence:
        (farm.folder / "none").mkdir()
        said = run(*job("none/%04d.png", 1, 4), status=1, env=environment)
        expect("wrong numbers", "no picture was made: Frames has to be" in said, True)
        farm.calls()


class Slurm:
    """A controller and a node on this machine, which are as one user and believe everybody."""

    def __init__(self, folder):
        folder.mkdir()
        self.folder, self.daemons = folder, []
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        ports = [one.getsockname()[1] for one in sockets]
        for one in sockets:
            one.close()
        user, host = pwd.getpwuid(os.getuid()).pw_name, socket.gethostname().split(".")[0]
        (folder / "slurm.conf").write_text(f"""ClusterName=farm
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=5
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1
SlurmdParameters=config_overrides
MailProg=/bin/true
NodeName={host} NodeAddr=127.0.0.1 CPUs=4
PartitionName=all Nodes=ALL Default=YES
""")
        self.environment = {**os.environ, "SLURM_CONF": str(folder / "slurm.conf")}

    def __enter__(self):
        for name in ("slurmctld", "slurmd"):
            log = open(self.folder / (name + ".log"), "w")
            self.daemons.append(subprocess.Popen([found(name), "-D"], env=self.environment, stdin=subprocess.DEVNULL,
                                                 stdout=log, stderr=log))
        for _ in range(300):
            if run("sinfo", "-h", "-o", "%T", status=None, env=self.environment).strip() == "idle":
                return self
            if any(one.poll() is not None for one in self.daemons):
                break
            time.sleep(0.1)
        logs = [path.read_text()[-500:] for path in self.folder.glob("*.log")]
        self.__exit__()
        skip("Slurm does not start here:\n" + "\n".join(logs))

    def __exit__(self, *_):
        for one in reversed(self.daemons):
            if one.poll() is None:
                one.send_signal(signal.SIGTERM)
            one.wait()

    def submit(self, *arguments, environment):
        environment = {**environment, "SLURM_CONF": self.environment["SLURM_CONF"]}
        return run("sbatch", "--parsable", *arguments, env=environment).strip()

    def wait(self):
        while run("squeue", "-h", env=self.environment):
            time.sleep(0.2)


def found(name):
    return shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


def slurm(farm):
    script = farm.examples / "slurm.sh"
    environment = farm.environment("4/4", False, kills=1)
    with Slurm(farm.folder / "slurm") as cluster:
        job = cluster.submit("--array=1-4", "--cpus-per-task=1", script, 4, *names(False), *options(False),
                             environment=environment)
        cluster.submit(f"--dependency=afterok:{job}", "--wrap", "reverie join out.mkv", environment=environment)
        cluster.submit("--array=1-2", "--cpus-per-task=1", script, 2, *names(True), *options(True),
                       environment=environment)
        cluster.wait()
    expect("Slurm", farm.calls(), {"1/4": 1, "2/4": 1, "3/4": 1, "4/4": 2, "1/2": 1, "2/2": 1})
    expect_whole(False)
    expect_whole(True)


def openjd_program():
    if shutil.which("openjd"):
        return ["openjd"]
    there = importlib.util.find_spec("openjd") and importlib.util.find_spec("openjd.cli")
    return [sys.executable, "-m", "openjd"] if there else None


def one_after_the_other(scheduler):
    """For a file, and then for a sequence."""
    def both(farm):
        for sequence in (False, True):
            scheduler(farm, sequence)
            expect_whole(sequence)
    return both


def main():
    reverie, examples, name = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    program = openjd_program() if name == "openjd" else None
    needed = {"make": ["make"], "parallel": ["parallel"], "slurm": ["sbatch", "slurmctld", "slurmd"], "openjd": []}
    missing = [one for one in needed[name] + ["ffmpeg"] if not found(one)]
    if missing or (name == "openjd" and not program):
        skip("not installed: " + ", ".join(missing or ["openjd-cli"]))
    schedulers = {"make": one_after_the_other(make), "parallel": one_after_the_other(parallel), "slurm": slurm,
                  "openjd": one_after_the_other(functools.partial(openjd, program=program))}
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that daemons end, too
    with tempfile.TemporaryDirectory() as folder:
        schedulers[name](Farm(reverie, examples, pathlib.Path(folder)))
        os.chdir("/")


if __name__ == "__main__":
    main()
