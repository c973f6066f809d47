//! The promises of docs/reference/file-guarantees.md, at random moments and when system calls fail.
//!
//! `TURNTILE_KILLS` sets the number of signals, by default 12. Tests that need strace or the superuser print that they
//! are skipped.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, io, iter};

use rustix::process::{Pid, Signal, kill_process_group};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::{Directory, directory, errors, noise, npy, pair};

const SIGNALS: [i32; 6] = [1, 2, 3, 6, 9, 15];

/// Prints past the capture of tests, so that what was not checked can be seen.
fn skipped(what: &str) {
    let _ = writeln!(io::stderr(), "file guarantees: skipped, {what}");
}

fn kills() -> usize {
    env::var("TURNTILE_KILLS").map_or(12, |count| count.parse().unwrap())
}

/// Pseudo-random numbers below a limit, the same in every run.
fn draws() -> impl FnMut(u64) -> u64 {
    let mut state = 1u64;
    move |below| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    }
}

/// Starts the command with the default action of every signal, which a background job may have ignored.
fn start(directory: &Directory, line: &str) -> Child {
    let mut command = Command::new("env");
    command.args(["--default-signal", env!("CARGO_BIN_EXE_turntile")]).args(line.split(' '));
    command.env_remove("TURNTILE_WISDOM").current_dir(directory);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn signal(child: &Child, number: i32) {
    let words = [format!("-{number}"), child.id().to_string()];
    // The command may have ended.
    Command::new("kill").args(words).stderr(Stdio::null()).status().unwrap();
}

/// Sends signals to runs of the command at random moments of the time that one takes. After each run `state` must hold:
/// it gets the signal, the exit code, and whether the command ended by itself.
fn at_random_moments(
    directory: &Directory,
    line: &str,
    count: usize,
    mut check: impl FnMut(i32, bool),
) {
    let begin = Instant::now();
    assert!(start(directory, line).wait().unwrap().success(), "{line}");
    let took = begin.elapsed();
    check(0, true);
    let mut draw = draws();
    for _ in 0..count {
        let number = SIGNALS[draw(6) as usize];
        let mut child = start(directory, line);
        sleep(took.mul_f64(draw(1200) as f64 / 1000.0));
        signal(&child, number);
        let status = child.wait().unwrap();
        assert!(status.success() || status.signal() == Some(number), "{number}: {status}");
        check(number, status.success());
    }
}

/// Removes what a kill during a rename leaves, the new file under a temporary name, and checks that nothing else is left.
fn only(directory: &Directory, names: &[&str]) {
    let mut left: Vec<String> = directory.files().into_iter().map(|file| file.0).collect();
    left.retain(|name| {
        let is_temporary = names
            .iter()
            .any(|of| name.strip_prefix(&format!(".{of}.")).is_some_and(|rest| rest.len() == 6));
        if is_temporary {
            fs::remove_file(directory.at(name)).unwrap();
        }
        !is_temporary
    });
    assert_eq!(left, names);
}

#[test]
fn signals_leave_the_old_file_or_the_new_one() {
    let directory = directory();
    for memory in ["", " --memory 2M"] {
        let [before, after] = pair(2003, 1501);
        directory.write("a.npy", &before);
        let mut now = before.clone();
        at_random_moments(
            &directory,
            &format!("transpose -i a.npy{memory}"),
            kills() / 2,
            |number, is_done| {
                let found = directory.read("a.npy");
                assert!(
                    found == before || found == after,
                    "{number}: neither the old file nor the new one"
                );
                assert!(!is_done || found != now, "{number}: exit code 0, and nothing done");
                now = found;
                only(&directory, &["a.npy"]);
            },
        );
    }
}

#[test]
fn signals_leave_complete_fields() {
    let directory = directory();
    let data = noise(13 * 400_000);
    let descr = "[('a', '|u1'), ('b', '<f8'), ('c', '<f4')]";
    directory.write("a.npy", npy(descr, 'C', &[400_000], &data));
    let before = directory.read("a.npy");
    let mut want = Vec::new();
    at_random_moments(&directory, "split a.npy --into out", kills() / 4, |number, is_done| {
        let mut found = directory.files();
        found.retain(|(name, _)| name.starts_with("out/") && !name.starts_with("out/."));
        if number == 0 {
            want.clone_from(&found);
            assert_eq!(want.len(), 3);
        }
        assert!(found.iter().all(|file| want.contains(file)), "{number}: a field is incomplete");
        assert!(!is_done || found.len() == 3, "{number}: exit code 0, and fields are missing");
        assert!(directory.read("a.npy") == before);
        let _ = fs::remove_dir_all(directory.at("out"));
    });
}

#[test]
fn signals_among_several_files_leave_those_before_done() {
    let directory = directory();
    let names = ["a.npy", "b.npy", "c.npy"];
    let states = pair(1501, 1201);
    let mut now = [0; 3];
    for name in names {
        directory.write(name, &states[0]);
    }
    at_random_moments(
        &directory,
        "transpose -i a.npy b.npy c.npy",
        kills() / 2,
        |number, is_done| {
            let found = names.map(|name| {
                let found = directory.read(name);
                states
                    .iter()
                    .position(|state| *state == found)
                    .expect("the old file or the new one")
            });
            let changed: Vec<bool> = iter::zip(now, found).map(|(old, new)| old != new).collect();
            assert!(changed.is_sorted_by(|a, b| a >= b), "{number}: changed {changed:?}");
            assert!(!is_done || changed.iter().all(|&changed| changed), "{number}: {changed:?}");
            now = found;
            only(&directory, &names);
        },
    );
}

#[test]
fn a_shell_loop_ends_with_the_interrupted_command() {
    let directory = directory();
    directory.write("a.npy", &pair(2003, 1501)[0]);
    let script = format!(
        "while true; do env --default-signal '{}' transpose -i a.npy -q; done",
        env!("CARGO_BIN_EXE_turntile")
    );
    let mut shell = Command::new("env");
    shell.args(["--default-signal", "bash", "-c", &script]).current_dir(&directory);
    let mut shell = shell.stderr(Stdio::null()).process_group(0).spawn().unwrap();
    let group = Pid::from_child(&shell);
    // A run whose file is in place already ends as if it had not been interrupted: interrupt the next one.
    for _ in 0..10 {
        sleep(Duration::from_millis(300));
        kill_process_group(group, Signal::INT).unwrap();
        sleep(Duration::from_millis(300));
        if let Some(status) = shell.try_wait().unwrap() {
            assert_eq!(status.signal(), Some(2));
            return;
        }
    }
    kill_process_group(group, Signal::KILL).unwrap();
    panic!("the loop goes on");
}

#[test]
fn a_late_write_is_detected_or_kept_or_moved() {
    let directory = directory();
    let (rows, cols, words) = (1201, 901, *b"sixteen bytes...");
    let before = &pair(rows, cols)[0];
    let begin = before.len() - 4 * rows * cols;
    let (mut draw, mut lost) = (draws(), 0);
    for _ in 0..40 {
        directory.write("a.npy", before);
        let place = draw((rows * cols - 4) as u64) as usize;
        // Times count in ticks of some milliseconds: the file must be older than that.
        sleep(Duration::from_millis(20));
        let mut child = start(&directory, "transpose -i a.npy");
        sleep(Duration::from_micros(draw(150_000)));
        let file = OpenOptions::new().read(true).write(true).open(directory.at("a.npy")).unwrap();
        file.write_all_at(&words, (begin + 4 * place) as u64).unwrap();
        // If another file has replaced the opened one, the write is lost by design.
        let ino = |path: &Path| fs::metadata(path).unwrap().ino();
        let is_replaced = file.metadata().unwrap().ino() != ino(&directory.at("a.npy"));
        let is_done = child.wait().unwrap().success();
        if is_replaced {
            continue;
        }
        let data = &directory.read("a.npy")[begin..];
        let moved = (place..place + 4).map(|k| k % cols * rows + k / cols);
        let moved: Vec<u8> = moved.flat_map(|at| data[4 * at..][..4].to_vec()).collect();
        if data[4 * place..].starts_with(&words) || is_done && moved == words {
            continue;
        }
        // The last change of the old file is that it lost its name.
        let times = file.metadata().unwrap();
        let gap = (times.ctime() - times.mtime()) * 1_000_000_000 + times.ctime_nsec()
            - times.mtime_nsec();
        assert!(is_done && gap <= 10_000_000, "lost {gap} ns before the rename");
        lost += 1;
    }
    assert!(lost <= 1, "{lost} of 40 writes were lost");
}

/// Runs the command under strace, and returns its output and the names of the calls that succeeded.
fn traced(directory: &Directory, calls: &[&str], line: &str) -> Option<(Output, Vec<String>)> {
    let log = tempfile::NamedTempFile::new().unwrap();
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-z", "-o"]).arg(log.path());
    command.args(calls.iter().flat_map(|call| ["-e", call]));
    command.arg(env!("CARGO_BIN_EXE_turntile")).args(line.split(' '));
    let output = command.env_remove("TURNTILE_WISDOM").current_dir(directory).output();
    let Some(output) = output.ok().filter(|output| !errors(output).contains("not permitted"))
    else {
        skipped("system calls: no strace here");
        return None;
    };
    let log = fs::read_to_string(log.path()).unwrap();
    let calls = log.lines().filter_map(|line| line.split_once('('));
    let calls = calls.map(|(call, _)| call.split(' ').next_back().unwrap().to_string()).collect();
    Some((output, calls))
}

#[test]
fn the_new_file_is_synced_before_its_rename_and_the_directory_after() {
    let directory = directory();
    directory.write("a.npy", &pair(31, 17)[0]);
    for output in ["-i", "-o b.npy"] {
        let calls = ["trace=fsync,fdatasync,rename,renameat,renameat2,linkat"];
        let line = format!("transpose a.npy {output}");
        let Some((output, made)) = traced(&directory, &calls, &line) else { return };
        assert!(output.status.success(), "{}", errors(&output));
        let is_rename = |call: &String| call.starts_with("rename") || call.starts_with("link");
        let first = made.iter().position(is_rename).expect("a rename");
        let last = made.iter().rposition(is_rename).unwrap();
        let is_sync = |call: &String| call == "fsync";
        assert!(made[..first].iter().any(is_sync) && made[last..].iter().any(is_sync), "{made:?}");
    }
}

#[test]
fn refused_system_calls_are_errors_before_any_work() {
    let directory = directory();
    let before = &pair(31, 17)[0];
    directory.write("a.npy", before);
    if xattr::set(directory.at("a.npy"), "user.note", b"mine").is_err() {
        return skipped("attributes: the file system has none");
    }
    for (call, error, words) in [
        ("fallocate", "EDQUOT", "cannot reserve space for"),
        ("fallocate", "ENOSPC", "no room for"),
        (
            "fsetxattr",
            "EOPNOTSUPP",
            "has the attribute \"user.note\", which the new file cannot be given",
        ),
        ("fchmod", "EACCES", "cannot keep the permissions of"),
    ] {
        let trace = format!("trace={call},write,pwrite64,rename,renameat,renameat2");
        let calls = [&*trace, &format!("inject={call}:error={error}")];
        let Some((output, made)) = traced(&directory, &calls, "transpose -i a.npy") else { return };
        assert_eq!(output.status.code(), Some(1), "{call} {error}");
        assert!(errors(&output).contains(words), "{call} {error}: {}", errors(&output));
        // One write: the message.
        assert_eq!(made, ["write"], "{call} {error}");
        assert!(directory.read("a.npy") == *before);
        only(&directory, &["a.npy"]);
    }
}

#[test]
fn a_full_disk_is_detected_before_any_work() {
    let directory = directory();
    let mount = ["-t", "tmpfs", "-o", "size=20m", "tmpfs"];
    let mounted = Command::new("mount").args(mount).arg(directory.path()).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        return skipped("a full disk: needs the superuser");
    }
    struct Mounted<'a>(&'a Path);
    impl Drop for Mounted<'_> {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg(self.0).status();
        }
    }
    let _mounted = Mounted(directory.path());
    directory.write("a.npy", &pair(2003, 1501)[0]);
    for output in ["-i", "-i --memory 2M", "-o b.npy"] {
        directory.bad(&format!("transpose a.npy {output}"), 1, &["no room"]);
    }
}

#[test]
fn nothing_is_written_to_a_terminal_or_read_from_one() {
    let directory = directory();
    directory.write("a.npy", &pair(601, 403)[0]);
    let shown = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&shown).and_then(|()| unlockpt(&shown)).unwrap();
    let name = ptsname(&shown, Vec::new()).unwrap();
    let terminal = || -> Stdio {
        let options = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap());
        options.unwrap().into()
    };
    let _open: File =
        OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    for (line, words) in
        [("transpose a.npy -o -", "output is a terminal"), ("transpose -", "input is a terminal")]
    {
        let mut command = directory.command(line);
        if line.ends_with("-o -") {
            command.stdout(terminal())
        } else {
            command.stdin(terminal())
        };
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(errors(&output).contains(words), "{line}: {}", errors(&output));
    }
    rustix::io::ioctl_fionbio(&shown, true).unwrap();
    assert!(rustix::io::read(&shown, &mut [0; 1]).is_err(), "written to a terminal");
}

/// The peak is read while the command runs: it only grows, and the command still syncs at its end.
#[test]
fn memory_stays_below_the_limit() {
    let directory = directory();
    let (rows, cols, most) = (4003, 8377, 64 << 20);
    let [before, after] = pair(rows, cols);
    directory.write("a.npy", before);
    let mut child =
        directory.command(&format!("transpose -i a.npy --memory {most} -q")).spawn().unwrap();
    let mut peak = 0;
    while child.try_wait().unwrap().is_none() {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes =
            line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<usize>().ok());
        peak = peak.max(kilobytes.unwrap_or(0) << 10);
        sleep(Duration::from_millis(2));
    }
    assert!(child.wait().unwrap().success());
    assert!(directory.read("a.npy") == after);
    assert!((1 << 20..=most).contains(&peak), "{peak} bytes at the peak, {most} allowed");
}
