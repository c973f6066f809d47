//! What the system does not give: threads, memory, somebody who listens.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use crate::{Directory, directory, ended, errors, noise, npy, pair, small};

/// Runs a line of a shell, in which `turntile` is the command.
fn shell(directory: &Directory, line: &str) -> Output {
    let line = format!("turntile() {{ exec {} \"$@\"; }}\n{line}", env!("CARGO_BIN_EXE_turntile"));
    let mut command = Command::new("sh");
    command.args(["-c", &line]).env_remove("TURNTILE_WISDOM");
    command.env("XDG_DATA_HOME", directory.at("data"));
    command.current_dir(directory).output().expect("a shell starts")
}

/// Some threads more than the first one, or none. The superuser has no limit, so it runs as another user.
#[cfg(target_os = "linux")]
#[test]
fn as_many_threads_work_as_can_be_started() {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let directory = directory();
    // 48 MB.
    let [before, after] = pair(4003, 3001);
    let path = directory.at("a.npy");
    let is_root = fs::metadata("/proc/self").is_ok_and(|me| {
        use std::os::unix::fs::MetadataExt;
        me.uid() == 0
    });
    let command = directory.at("turntile");
    fs::copy(env!("CARGO_BIN_EXE_turntile"), &command).unwrap();
    for name in [directory.path(), &command] {
        fs::set_permissions(name, fs::Permissions::from_mode(0o777)).unwrap();
    }
    // A plan may be for more than there are: the shares of those that are missing are done too.
    let none: &[&str] = &[];
    for (most, memory, planned) in [
        ("1", "1G", none),
        ("1", "1G", &["--threads", "5"]),
        ("1", "40MB", none),
        ("1", "2M", none),
        ("4", "1G", none),
        ("4", "1G", &["--threads", "8"]),
        ("4", "40MB", none),
    ] {
        fs::write(&path, &before).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        let mut run = Command::new("prlimit");
        run.arg(format!("--nproc={most}")).arg(&command);
        run.args(["transpose", "a.npy", "-o", "b.npy", "--memory", memory]).args(planned);
        run.env("RAYON_NUM_THREADS", "8").env_remove("TURNTILE_WISDOM").current_dir(&directory);
        if is_root {
            run.uid(NOBODY).gid(NOBODY);
        }
        let output = match run.output() {
            Ok(output) => output,
            Err(error) => return eprintln!("prlimit is missing: {error}"),
        };
        let words = ["other threads cannot be started"];
        let errors = ended(&format!("{most} {memory}"), &output, 0, &words);
        assert!(!errors.contains("panicked"), "{errors}");
        assert!(fs::read(&path).unwrap() == before, "{most} {memory}");
        assert!(directory.read("b.npy") == after, "{most} {memory}");
        fs::remove_file(directory.at("b.npy")).unwrap();
    }
}

#[test]
fn nothing_is_said_to_be_done_where_standard_output_is_closed() {
    let directory = directory();
    let [before, after] = pair(3, 5);
    directory.write("a.npy", &before);
    let closed = "standard output is closed";
    // Lost where that was asked for, whichever way it was opened; nothing is lost where there is no room.
    for (line, code, words) in [
        ("transpose a.npy - >&-", 1, closed),
        ("transpose - <a.npy >&-", 1, closed),
        ("plan 3x5 --elem-bytes 4 >&-", 1, closed),
        ("plan 3x5 --elem-bytes 4 --json >&-", 1, closed),
        ("--help >&-", 1, closed),
        ("transpose - b.npy <&-", 1, "standard input is closed"),
        // Open, for the other direction alone.
        ("transpose a.npy - 1</dev/null", 1, closed),
        ("transpose a.npy - --memory 1M 1</dev/null", 1, closed),
        ("transpose - <a.npy 1</dev/null", 1, closed),
        ("plan 3x5 --elem-bytes 4 1</dev/null", 1, closed),
        ("completions bash 1</dev/null", 1, closed),
        ("transpose - b.npy 0>/dev/null", 1, "standard input is closed, or open for writing alone"),
        ("transpose a.npy - >/dev/null", 0, ""),
        ("transpose a.npy - 1<>/dev/null", 0, ""),
        ("plan 3x5 --elem-bytes 4 >/dev/null", 0, ""),
        ("plan 3x5 --elem-bytes 4 1<>/dev/null", 0, ""),
        ("--help >/dev/full", 1, "cannot print the result: No space"),
        ("--version >/dev/full", 1, "cannot print the result: No space"),
        ("transpose --help >/dev/full", 1, "cannot print the result: No space"),
        ("plan 3x5 --elem-bytes 4 >/dev/full", 1, "cannot print the result: No space"),
    ] {
        ended(line, &shell(&directory, &format!("turntile {line}")), code, &[words]);
    }
    // A reader who has seen enough.
    let output = shell(&directory, "( (turntile --help); echo $? >&2) | head -c 1");
    assert_eq!(errors(&output), "0\n");
    assert!(directory.files() == [("a.npy".to_string(), before)]);
    // What is done is done, and the report alone is missing.
    let line = "turntile transpose a.npy >&-";
    ended(line, &shell(&directory, line), 0, &["done, but cannot print the result"]);
    assert!(directory.read("a.npy") == after);
}

#[test]
fn less_memory_than_anything_is_moved_in_is_refused() {
    let directory = directory();
    let data = noise(601 * 403 * 4);
    directory.write("a.npy", npy("'<f4'", false, "(601, 403)", &data));
    directory.write("empty.npy", npy("'<f4'", false, "(0, 403)", b""));
    for (memory, have) in [("0", "0 may be used"), ("1023K", "1047552 may be used")] {
        let words = &["a.npy: 1048576 bytes of memory are needed", "968812", have, "--memory says"];
        directory.bad(&format!("transpose a.npy --memory {memory}"), 1, words);
        directory.bad(&format!("transpose a.npy b.npy --memory {memory} --dry-run"), 1, words);
        directory.good(&format!("transpose empty.npy -o e.npy --memory {memory}"));
    }
    // From too little to begin with to what is enough.
    let mut refused = 0;
    let mut began = 0;
    for limit in (8000..34_000).step_by(60) {
        let output =
            shell(&directory, &format!("ulimit -v {limit}; turntile transpose a.npy b.npy"));
        let (errors, words) = (errors(&output), "1048576 bytes of memory are needed at least");
        // In the least, Rust's runtime finds no room for a signal stack and panics before `main`.
        let before_main = errors.contains("failed to allocate an alternative stack");
        assert!(before_main || !errors.contains("panicked"), "{limit}: {errors}");
        // Below that the system may not even load it.
        assert!(limit < 20_000 || output.status.code().is_some(), "{limit}: {errors}");
        began += usize::from(errors.contains("not enough memory to begin with: 4194304 bytes"));
        assert_eq!(output.status.success(), directory.at("b.npy").exists(), "{errors}");
        refused += usize::from(errors.contains(words) && errors.contains("ulimit -v"));
        let _ = fs::remove_file(directory.at("b.npy"));
    }
    assert!(refused > 0 && began > 0);
}

/// A gigabyte that is not there, in less: the message names the array's size.
#[test]
fn memory_that_is_refused_is_reported_with_the_arrays_size() {
    let directory = directory();
    let header = npy("'<f4'", false, "(16384, 16384)", b"");
    let bytes = 1_usize << 30;
    let path = directory.at("a.npy");
    fs::write(&path, &header).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_len((header.len() + bytes) as u64).unwrap();
    for memory in ["4G", "900M"] {
        let line =
            format!("ulimit -v 400000; turntile transpose a.npy - --memory {memory} >/dev/null");
        let words = ["not enough memory for a.npy", "its data take 1073741824 bytes", "ulimit -v"];
        ended(&line, &shell(&directory, &line), 1, &words);
    }
}

/// Each write of the command is a datagram here.
#[test]
fn every_line_is_one_write() {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;
    use std::process::Stdio;
    let directory = directory();
    directory.write("a.npy", small());
    for line in [
        "transpose -i a.npy none.npy neither.npy",
        "transpose a.npy - --threads 0",
        "transpose a.npy b.npy c.npy",
        "plan 3x5 --elem-bytes 4 --device abacus",
    ] {
        let (ours, theirs) = UnixDatagram::pair().unwrap();
        let mut command = directory.command(line);
        command.stdout(Stdio::null());
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
