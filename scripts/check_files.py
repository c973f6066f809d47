#!/usr/bin/env python3
"""Tries what docs/reference/file-guarantees.md promises: kills, fills, races and forbids.

    check_files.py PATH_TO_TURNTILE [--folder DIR] [--kills N] [NAME...]
    check_files.py PATH_TO_TURNTILE [--folder DIR] [--bytes N] [--memory N,...] [--sampled ROWS] [--turns N] large

Without names all that can be tried here. What needs the superuser, strace or numpy
says so and is skipped where they are missing; numpy makes it faster. Exits 1 if any failed.

  signals   N signals (200) at random moments: the file is the old one or the new one, and nothing is left
  split     signals while fields are written: each file that has its name is complete
  several   N/2 signals while several files are changed: those before are done, none after
  streams   nothing is written to a terminal or read from one
  synced    the new file is synced before it takes its name, the directory after (strace)
  refused   what a quota, a full disk or a file system without attributes refuses is refused before any work (strace)
  late      16 bytes written into the file at random moments: lost only in the instant of the rename
  loop      a shell's loop ends with the command that was interrupted
  full      a full disk is refused before any work, and nothing is left (superuser)
  memory    a file of 268 MB moved in 64 MiB, by the memory at the peak
  archives  a member after one of 4.4 GB, and that one (not by default)
  large     a file of --bytes bytes in each --memory, timed beside cp and sync, all rows compared or so many --sampled (not by default)
"""

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from files_made import COL, ROW, Holes, digest, header, line, np, padded, write


class Skipped(Exception):
    pass


def need(what, there):
    if not there:
        raise Skipped(f"needs {what}")


class Tries:
    def __init__(self, folder, options):
        self.command, self.folder, self.kills = os.path.abspath(options.command), Path(folder), options.kills
        self.large_size, self.memories = options.bytes, options.memory.split(",")
        self.sampled, self.turns_of_large, self.seeded = options.sampled, options.turns, options.seeded
        self.draw = random.Random(1)

    def start(self, *arguments, **options):
        return subprocess.Popen([self.command, *map(str, arguments)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **options)

    def run(self, *arguments, **options):
        child = self.start(*arguments, **options)
        errors = child.communicate()[1].decode(errors="replace")
        return child.returncode, errors

    def only(self, *names):
        left = sorted(path.name for path in self.folder.iterdir())
        assert left == sorted(names), f"left: {left}"

    def pair(self, rows=2003, cols=1501):
        """A file, and the digests of it and of what it becomes."""
        before, after = self.folder / "a.npy", self.folder / "after"
        write(after, rows, cols, turned=True)
        want = digest(after)
        after.unlink()
        write(before, rows, cols)
        return before, digest(before), want

    def signals(self):
        path, before, after = self.pair()
        start = time.monotonic()
        assert self.run("transpose", "-i", path)[0] == 0
        took, now, ended, left = time.monotonic() - start, after, 0, 0
        for k in range(self.kills):
            how = self.draw.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL, signal.SIGABRT])
            memory = [] if k % 2 else ["--memory", "2M"]
            child = self.start("transpose", "-i", path, *memory)
            time.sleep(self.draw.random() * took * 1.2)
            child.send_signal(how)
            child.communicate()
            found = digest(path)
            changed = found != now
            assert found in (before, after), f"{how.name}: neither old nor new"
            assert child.returncode in (0, -how), f"{how.name}: exit {child.returncode}"
            assert child.returncode != 0 or changed, "exit 0 and nothing done"
            ended, now = ended + (child.returncode != 0), found
            left += self.remove_renaming(path)
            self.only(path.name)
        return f"{self.kills} signals: {ended} ended the command, {left} of these during the rename"

    def remove_renaming(self, path):
        """A kill during the rename leaves the new file under a temporary name. Returns the number of such files."""
        left = [name for name in self.folder.glob(f".{path.name}.??????")]
        for name in left:
            name.unlink()
        return len(left)

    def split(self):
        """Ends `split` at random moments: each file that has its name is complete."""
        path, out, ended = self.folder / "a.npy", self.folder / "out", 0
        text = "{'descr': [('a', '|u1'), ('b', '<f8'), ('c', '<f4')], 'fortran_order': False, 'shape': (400000,), }"
        path.write_bytes(padded(text) + os.urandom(13 * 400000))
        before, start = digest(path), time.monotonic()
        assert self.run("split", path, "--into", out)[0] == 0
        took = time.monotonic() - start
        want = {name.name: digest(name) for name in out.iterdir()}
        assert sorted(want) == ["a.npy", "b.npy", "c.npy"]
        shutil.rmtree(out)
        partial = 0
        for _ in range(max(self.kills // 4, 1)):
            how = self.draw.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGKILL])
            child = self.start("split", path, "--into", out)
            time.sleep(self.draw.random() * took * 1.2)
            child.send_signal(how)
            child.communicate()
            assert child.returncode in (0, -how) and digest(path) == before
            made = {name.name: digest(name) for name in out.glob("[!.]*")}
            # Each file that has its name is complete. A kill between the renames leaves some.
            assert made.items() <= want.items() and (made == want or child.returncode != 0), f"{how.name}: {child.returncode}, {made}"
            ended, partial = ended + (child.returncode != 0), partial + (0 < len(made) < len(want))
            shutil.rmtree(out, ignore_errors=True)
            self.only(path.name)
        return f"{ended} runs were ended, {partial} between the renames"

    def several(self):
        """Signals while three files are changed: those before the interruption are done, none after it, and each is whole."""
        names = ["a.npy", "b.npy", "c.npy"]
        path, before, after = self.pair(1501, 1201)
        paths = [self.folder / name for name in names]
        for other in paths[1:]:
            shutil.copy(path, other)
        ended, between = 0, 0
        start = time.monotonic()
        assert self.run("transpose", "-i", *paths)[0] == 0
        took, states = time.monotonic() - start, [after] * 3
        for _ in range(self.kills // 2):
            how = self.draw.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
            child = self.start("transpose", "-i", *paths)
            time.sleep(self.draw.random() * took * 1.2)
            child.send_signal(how)
            child.communicate()
            found = [digest(path) for path in paths]
            assert all(state in (before, after) for state in found), f"{how.name}: neither old nor new"
            changed = [old != new for old, new in zip(states, found)]
            assert changed == sorted(changed, reverse=True), f"{how.name}: changed {changed}"
            assert child.returncode in (0, -how), f"{how.name}: exit {child.returncode}"
            assert child.returncode != 0 or all(changed), f"{how.name}: exit 0, changed {changed}"
            ended, between, states = ended + (child.returncode != 0), between + (any(changed) and not all(changed)), found
            sum(map(self.remove_renaming, paths))
            self.only(*names)
        return f"{self.kills // 2} signals, {ended} ended the command, {between} of them after a file or two"

    def streams(self):
        import pty

        path, *_ = self.pair(601, 403)
        shown, terminal = pty.openpty()
        for words, streams, what in [
            (["transpose", path, "-o", "-"], {"stdout": terminal}, "output is a terminal"),
            (["transpose", "-"], {"stdin": terminal, "stdout": subprocess.PIPE}, "input is a terminal"),
        ]:
            run = subprocess.run([self.command, *map(str, words)], stderr=subprocess.PIPE, text=True, timeout=60, **streams)
            assert run.returncode == 1 and what in run.stderr, run
        os.set_blocking(shown, False)
        try:
            assert not os.read(shown, 1), "written to a terminal"
        except BlockingIOError:
            pass
        os.close(terminal), os.close(shown)

    def traced(self, calls, *words):
        """Runs the command under strace: its exit status, what it complained of, and the calls that it made."""
        need("strace", shutil.which("strace"))
        with tempfile.NamedTemporaryFile("r") as log:
            run = subprocess.run(["strace", "-f", "-qq", "-z", "-o", log.name, *calls, self.command, *map(str, words)], capture_output=True, text=True)
            need("leave to trace", "Operation not permitted" not in run.stderr)
            return run.returncode, run.stderr, [line.split("(")[0].split()[-1] for line in log if "(" in line]

    def synced(self):
        path, *_ = self.pair(31, 17)
        calls = ["-e", "trace=fsync,fdatasync,rename,renameat,renameat2,linkat"]
        for output in (["-i"], ["-o", self.folder / "b.npy"]):
            code, errors, made = self.traced(calls, "transpose", path, *output)
            assert code == 0, errors
            names = [at for at, call in enumerate(made) if call.startswith(("rename", "link"))]
            assert names and "fsync" in made[: names[0]] and "fsync" in made[names[-1] :], made

    def refused(self):
        """System calls that fail as at a quota, on a full disk, and on file systems without attributes."""
        path, before, _ = self.pair(31, 17)
        try:
            os.setxattr(path, "user.note", b"mine")
        except OSError as error:
            raise Skipped("needs a file system with attributes") from error
        for call, error, words in [
            ("fallocate", "EDQUOT", "cannot reserve space for"),
            ("fallocate", "ENOSPC", "no room for"),
            ("fsetxattr", "EOPNOTSUPP", 'has the attribute "user.note", which the new file cannot be given'),
            ("fchmod", "EACCES", "cannot keep the permissions of"),
        ]:
            calls = ["-e", f"trace={call},write,pwrite64,rename,renameat,renameat2", "-e", f"inject={call}:error={error}"]
            code, errors, made = self.traced(calls, "transpose", "-i", path)
            # One write: the message.
            assert code == 1 and words in errors and made == ["write"], (error, code, errors, made)
            assert digest(path) == before
            self.only(path.name)

    def late(self):
        """Written over four elements; their place afterwards shows whether they were written before the work or after it."""
        rows, cols, words = 1201, 901, b"sixteen bytes..."
        begin, detected, instant = len(header(rows, cols)), 0, 0
        for k in range(40):
            path, _, _ = self.pair(rows, cols)
            place = self.draw.randrange(0, rows * cols - 4)
            # Times count in ticks of some milliseconds: the file is to be older than that.
            time.sleep(0.02)
            child = self.start("transpose", "-i", path)
            time.sleep(self.draw.random() * 0.15)
            with open(path, "r+b", buffering=0) as file:
                os.pwrite(file.fileno(), words, begin + 4 * place)
                # If another file has replaced the opened one, the write is lost by design.
                replaced = not os.path.samestat(os.fstat(file.fileno()), os.stat(path))
                child.communicate()
                times = os.fstat(file.fileno())
            if replaced:
                continue
            data = path.read_bytes()[begin:]
            moved = [(j % cols * rows + j // cols) * 4 for j in range(place, place + 4)]
            as_written = data[4 * place :][:16] == words
            as_moved = b"".join(data[at : at + 4] for at in moved) == words
            detected += child.returncode == 1
            if as_written or child.returncode == 0 and as_moved:
                continue
            # The old file's last change is that it lost its name. Times count in ticks.
            before_rename = (times.st_ctime_ns - times.st_mtime_ns) / 1e6
            assert child.returncode == 0 and before_rename <= 10, f"lost, exit {child.returncode}, {before_rename} ms before the rename"
            instant += 1
        assert instant <= 1, f"{instant} of 40 writes lost"
        return f"40 writes, {detected} detected, {instant} in the instant of the rename"

    def loop(self):
        path, before, after = self.pair()
        script = f"while true; do '{self.command}' transpose -i '{path}' -q; done"
        shell = subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)
        # A run whose file is in place already ends as if it had not been asked to: ask the next one.
        for _ in range(10):
            time.sleep(0.3)
            os.killpg(shell.pid, signal.SIGINT)
            try:
                shell.communicate(timeout=2)
                break
            except subprocess.TimeoutExpired:
                pass
        else:
            os.killpg(shell.pid, signal.SIGKILL)
        assert shell.wait() == -signal.SIGINT, shell.returncode

    def full(self):
        need("the superuser", os.geteuid() == 0)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", self.folder], capture_output=True)
        need("mount", mounted.returncode == 0)
        try:
            path, before, _ = self.pair()
            for more in (["-i"], ["-i", "--memory", "2M"], ["-o", self.folder / "b.npy"]):
                code, errors = self.run("transpose", path, *more)
                assert code == 1 and "no room" in errors, errors
                assert digest(path) == before
                self.only(path.name)
        finally:
            subprocess.run(["umount", self.folder], check=True)

    def memory(self):
        need("numpy", np)
        rows, cols, most = 8011, 8377, 64 << 20
        path, kept = self.folder / "a.npy", self.folder / "kept.npy"
        write(path, rows, cols)
        os.link(path, kept)
        seconds, peak = measured(self.command, "transpose", "-i", path, "--memory", most, "-q")
        before, after = np.load(kept, mmap_mode="r"), np.load(path, mmap_mode="r")
        assert after.shape == (cols, rows)
        for col in range(0, cols, 512):
            assert np.array_equal(after[col : col + 512], before[:, col : col + 512].T), f"rows {col} and more of the result"
        assert peak <= most, f"{peak} bytes of memory at the peak, of {most}"
        self.only(path.name, kept.name)
        return f"{4 * rows * cols / 1e6:.0f} MB, {peak / 1e6:.0f} MB of memory at the peak, {most / 1e6:.0f} allowed"

    def archives(self):
        """Sizes and places above 4 GiB. The zeros of the large member are a hole."""
        path, zeros = self.folder / "a.npz", 4_400_000_000
        text = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({zeros},), }}"
        small = header(3, 5) + bytes(range(60))
        with open(path, "wb") as file, zipfile.ZipFile(Holes(file), "w") as made:
            with made.open("large.npy", "w", force_zip64=True) as member:
                member.write(padded(text))
                for at in range(0, zeros, 1 << 22):
                    member.write(bytes(min(1 << 22, zeros - at)))
            made.writestr("small.npy", small)
        out = self.folder / "out.npy"
        assert self.run("transpose", path, "--member", "small", "-o", out)[0] == 0
        assert out.read_bytes() == header(5, 3) + b"".join(bytes(range(60))[4 * k :][:4] for col in range(5) for k in range(col, 15, 5))
        code, errors = self.run("reorder", "--order", "F", path, "--member", "large", "--memory", "1G", "-o", out)
        assert code == 0 and out.stat().st_size == len(padded(text)) + zeros, errors
        return f"{path.stat().st_size / 1e9:.1f} GB"

    def large(self):
        rows = int((self.large_size / 4) ** 0.5) + 7
        cols = self.large_size // 4 // rows
        path, other = self.folder / "a.npy", self.folder / "b.npy"
        write(path, rows, cols, every=self.seeded)
        # No holes in the copy: the command writes every byte too.
        ways = [("cp and sync", ["sh", "-c", f"cp --sparse=never '{path}' '{other}' && sync '{other}'"])]
        ways += [(f"--memory {memory}", [self.command, "transpose", path, "-o", other, "-q", "--memory", memory]) for memory in self.memories]
        seeds = "" if self.seeded == 1 else f", a row in {self.seeded} written and holes between"
        table = [f"{rows} x {cols}, {path.stat().st_size / 1e9:.1f} GB{seeds}", "| | seconds | GB/s | of cp | memory at the peak | bytes wrong |", "|---|---|---|---|---|---|"]
        best, peaks, wrong = {}, {}, {}
        # Alternately, so that other work of the machine slows all of them equally.
        for turn in range(self.turns_of_large):
            for name, words in ways:
                forget(path)
                seconds, peaks[name] = measured(*words)
                best[name] = min(seconds, best.get(name, seconds))
                if turn == 0 and words[0] == self.command:
                    wrong[name] = self.compared(other, rows, cols)
                other.unlink()
        cp = best[ways[0][0]]
        for name, _ in ways:
            figures = f"{peaks[name] / 1e6:.0f} MB | {wrong[name]}" if name in wrong else "- | -"
            table.append(f"| {name} | {best[name]:.1f} | {path.stat().st_size / best[name] / 1e9:.2f} | {100 * cp / best[name]:.0f}% | {figures} |")
        assert all(words.startswith("none") for words in wrong.values()), "\n".join(table)
        return "\n".join(table)

    def compared(self, path, rows, cols):
        """Compares a transposed file with what it is to be: row after row, or the rows drawn; a check sum of either."""
        drawn = range(cols) if not self.sampled else sorted(self.draw.sample(range(cols), min(self.sampled, cols)))
        begin, got, want = len(header(cols, rows)), hashlib.blake2b(digest_size=8), hashlib.blake2b(digest_size=8)
        with open(path, "rb") as file:
            if file.read(begin) != header(cols, rows) or file.seek(0, 2) != begin + 4 * rows * cols:
                return "header or length"
            for col in drawn:
                file.seek(begin + 4 * rows * col)
                got.update(file.read(4 * rows))
                expected = line(col, rows, COL, ROW)
                if self.seeded > 1:
                    kept, values = bytearray(4 * rows), memoryview(expected).cast("I")
                    memoryview(kept).cast("I")[:: self.seeded] = values[:: self.seeded]
                    expected = kept
                want.update(expected)
        if got.digest() != want.digest():
            return f"some: {got.hexdigest()} is not {want.hexdigest()}"
        return f"none of {len(drawn)} rows ({got.hexdigest()})"


def forget(path):
    """Writes back what is to be written, and has the system forget the file's pages."""
    os.sync()
    file = os.open(path, os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


# A separate, small process: a process's peak memory includes that of the process that started it.
MEASURE = """
import resource, subprocess, sys, time
start = time.monotonic()
code = subprocess.run(sys.argv[1:]).returncode
print(time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(code != 0)
"""


def measured(*words):
    """Runs a command, which must succeed: seconds, and bytes of memory at its peak."""
    run = subprocess.run([sys.executable, "-S", "-c", MEASURE, *map(str, words)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    seconds, peak = run.stdout.split()[-2:]
    return float(seconds), int(peak)


def main():
    # A job in the background has these ignored, and what it starts too.
    for ignored in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_DFL)
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--folder", help="where to make files")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--bytes", type=lambda text: int(float(text)), default="4e9", help="of the large file, e.g. 40e9")
    parser.add_argument("--memory", default="200M,2M", help="for the large file, a comma between settings")
    parser.add_argument("--seeded", type=int, default=1, help="write one row in so many of the large file, leave holes between")
    parser.add_argument("--sampled", type=int, default=0, help="rows of the large result to compare, drawn; 0 are all")
    parser.add_argument("--turns", type=int, default=3, help="how often each is timed; the shortest time counts")
    options = parser.parse_intermixed_args()
    every = ["signals", "split", "several", "streams", "synced", "refused", "late", "loop", "full", "memory"]
    failed = 0
    for name in options.names or every:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            tries = Tries(folder, options)
            try:
                print(f"{name}: {getattr(tries, name)() or 'as promised'}", flush=True)
            except Skipped as why:
                print(f"{name}: skipped, {why}", flush=True)
            except Exception as error:
                failed += 1
                print(f"{name}: FAILED: {type(error).__name__}: {error}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
