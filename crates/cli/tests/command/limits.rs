//! What the system does not give: threads, memory, somebody who listens.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::{bad, directory, files, noise, npy, pair, turntile};

/// Runs a line of a shell, in which `turntile` is the command.
fn shell(directory: &TempDir, line: &str) -> Output {
    let line = format!("turntile() {{ exec {} \"$@\"; }}\n{line}", env!("CARGO_BIN_EXE_turntile"));
    let mut command = Command::new("sh");
    command.args(["-c", &line]).env_remove("TURNTILE_WISDOM");
    command.env("XDG_DATA_HOME", directory.path().join("data"));
    command.current_dir(directory).output().expect("a shell starts")
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Some threads more than the first one, or none; the superuser has no limit, so it is nobody who runs.
#[cfg(target_os = "linux")]
#[test]
fn as_many_threads_work_as_can_be_started() {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let directory = directory();
    // 48 MB.
    let [before, after] = pair(4003, 3001);
    let path = directory.path().join("a.npy");
    let is_root = fs::metadata("/proc/self").is_ok_and(|me| {
        use std::os::unix::fs::MetadataExt;
        me.uid() == 0
    });
    let command = directory.path().join("turntile");
    fs::copy(env!("CARGO_BIN_EXE_turntile"), &command).unwrap();
    for name in [directory.path(), &command] {
        fs::set_permissions(name, fs::Permissions::from_mode(0o777)).unwrap();
    }
    for (most, memory) in [("1", "1G"), ("1", "40MB"), ("1", "2M"), ("4", "1G"), ("4", "40MB")] {
        fs::write(&path, &before).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let mut run = Command::new("prlimit");
        run.arg(format!("--nproc={most}")).arg(&command);
        run.args(["transpose", "a.npy", "-o", "b.npy", "--memory", memory]);
        run.env("RAYON_NUM_THREADS", "8").env_remove("TURNTILE_WISDOM").current_dir(&directory);
        if is_root {
            run.uid(NOBODY).gid(NOBODY);
        }
        let output = match run.output() {
            Ok(output) => output,
            Err(error) => return eprintln!("prlimit is missing: {error}"),
        };
        let errors = told(&output);
        assert_eq!(output.status.code(), Some(0), "{most} {memory}: {errors}");
        assert!(errors.contains("other threads cannot be started"), "{most} {memory}: {errors}");
        assert!(!errors.contains("panicked"), "{errors}");
        assert!(fs::read(&path).unwrap() == before, "{most} {memory}");
        assert!(fs::read(directory.path().join("b.npy")).unwrap() == after, "{most} {memory}");
        fs::remove_file(directory.path().join("b.npy")).unwrap();
    }
}

#[test]
fn nothing_is_said_to_be_done_where_standard_output_is_closed() {
    let directory = directory();
    let [before, after] = pair(3, 5);
    let path = directory.path().join("a.npy");
    fs::write(&path, &before).unwrap();
    for line in [
        "turntile transpose a.npy - >&-",
        "turntile transpose - <a.npy >&-",
        "turntile plan 3x5 --elem-bytes 4 >&-",
        "turntile plan 3x5 --elem-bytes 4 --json >&-",
        "turntile --help >&-",
    ] {
        let output = shell(&directory, line);
        assert_eq!(output.status.code(), Some(1), "{line}: {}", told(&output));
        assert!(told(&output).contains("standard output is closed"), "{line}: {}", told(&output));
    }
    let output = shell(&directory, "turntile transpose - b.npy <&-");
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("standard input is closed"), "{}", told(&output));
    // Whoever wants to lose it may, whichever way it was opened.
    for line in [
        "turntile transpose a.npy - >/dev/null",
        "turntile transpose a.npy - 1<>/dev/null",
        "turntile plan 3x5 --elem-bytes 4 >/dev/null",
        "turntile plan 3x5 --elem-bytes 4 1<>/dev/null",
    ] {
        let output = shell(&directory, line);
        assert_eq!(output.status.code(), Some(0), "{line}: {}", told(&output));
    }
    assert!(files(directory.path()) == [("a.npy".to_string(), before)]);
    // What is done is done, and the report alone is missing.
    let output = shell(&directory, "turntile transpose a.npy >&-");
    assert_eq!(output.status.code(), Some(0));
    assert!(told(&output).contains("done, but cannot print the result"), "{}", told(&output));
    assert!(fs::read(&path).unwrap() == after);
}

#[test]
fn what_was_asked_for_is_not_lost_where_standard_output_is_full() {
    let directory = directory();
    for line in ["--help", "--version", "transpose --help", "plan 3x5 --elem-bytes 4"] {
        let output = shell(&directory, &format!("turntile {line} >/dev/full"));
        assert_eq!(output.status.code(), Some(1), "{line}: {}", told(&output));
        assert!(told(&output).contains("cannot print the result: No space"), "{line}");
    }
    // A reader who has seen enough.
    let output = shell(&directory, "( (turntile --help); echo $? >&2) | head -c 1");
    assert_eq!(told(&output), "0\n");
}

#[test]
fn less_memory_than_anything_is_moved_in_is_refused() {
    let directory = directory();
    let data = noise(601 * 403 * 4);
    fs::write(directory.path().join("a.npy"), npy("'<f4'", false, "(601, 403)", &data)).unwrap();
    fs::write(directory.path().join("empty.npy"), npy("'<f4'", false, "(0, 403)", b"")).unwrap();
    for (memory, have) in [("0", "0 may be used"), ("1023K", "1047552 may be used")] {
        let words = &["a.npy: 1048576 bytes of memory are needed", "968812", have, "--memory says"];
        bad(&directory, &format!("transpose a.npy --memory {memory}"), 1, words);
        bad(&directory, &format!("transpose a.npy b.npy --memory {memory} --dry-run"), 1, words);
        let output =
            turntile(&directory, &format!("transpose empty.npy -o e.npy --memory {memory}"));
        assert_eq!(output.status.code(), Some(0), "{}", told(&output));
    }
    // From too little to begin with to what is enough.
    let mut refused = 0;
    for limit in (8000..30_000).step_by(2000) {
        let output =
            shell(&directory, &format!("ulimit -v {limit}; turntile transpose a.npy b.npy"));
        let (told, words) = (told(&output), "1048576 bytes of memory are needed at least");
        assert!(!told.contains("panicked"), "{limit}: {told}");
        assert_eq!(output.status.success(), directory.path().join("b.npy").exists(), "{told}");
        refused += usize::from(told.contains(words) && told.contains("ulimit -v"));
        let _ = fs::remove_file(directory.path().join("b.npy"));
    }
    assert!(refused > 0);
}

/// A gigabyte that is not there, in less: what is told is of the array.
#[test]
fn memory_that_is_not_given_is_told_of_with_the_arrays_size() {
    let directory = directory();
    let header = npy("'<f4'", false, "(16384, 16384)", b"");
    let bytes = 1_usize << 30;
    let path = directory.path().join("a.npy");
    fs::write(&path, &header).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len((header.len() + bytes) as u64).unwrap();
    for memory in ["4G", "900M"] {
        let line =
            format!("ulimit -v 400000; turntile transpose a.npy - --memory {memory} >/dev/null");
        let output = shell(&directory, &line);
        assert_eq!(output.status.code(), Some(1), "{}", told(&output));
        let words = ["not enough memory for a.npy", "its data take 1073741824 bytes", "ulimit -v"];
        for word in words {
            assert!(told(&output).contains(word), "{memory}: {}", told(&output));
        }
    }
}

/// Each write of the command is a datagram here.
#[test]
fn every_line_is_told_in_one_write() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;
    use std::process::Stdio;
    let directory = directory();
    fs::write(directory.path().join("a.npy"), npy("'|u1'", false, "(3, 5)", &noise(15))).unwrap();
    for line in [
        "transpose -i a.npy none.npy neither.npy",
        "transpose a.npy - --threads 0",
        "transpose a.npy b.npy c.npy",
        "plan 3x5 --elem-bytes 4 --device abacus",
    ] {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_turntile"));
        command.args(line.split(' ')).current_dir(&directory).stdout(Stdio::null());
        let status = command.stderr(OwnedFd::from(theirs)).status().unwrap();
        assert!(!status.success(), "{line}");
        drop(command);
        ours.set_nonblocking(true).unwrap();
        let (mut buffer, mut writes) = ([0; 1 << 16], 0);
        while let Ok(bytes @ 1..) = ours.recv(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..bytes]);
            let begins = text.starts_with("turntile: ") || text.starts_with("error: ");
            assert!(begins && text.ends_with('\n'), "{line}: {text:?}");
            writes += 1;
        }
        assert!(writes > 0, "{line}");
    }
}
