//! Limits of the system: threads, memory, file sizes; and writes of whole lines.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::{directory, ended, npy, pair, small};

/// Some threads more than the first one, or none. The superuser has no limit, so the command runs as another user.
#[cfg(target_os = "linux")]
#[test]
fn threads_that_cannot_be_started_are_not_needed() {
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65_534;
    let directory = directory();
    // 24 MB.
    let [before, after] = pair(2003, 3001);
    let command = directory.at("turntile");
    fs::copy(env!("CARGO_BIN_EXE_turntile"), &command).unwrap();
    directory.write("a.npy", &before);
    for (name, mode) in
        [(directory.path(), 0o777), (&command, 0o777), (&directory.at("a.npy"), 0o666)]
    {
        fs::set_permissions(name, fs::Permissions::from_mode(mode)).unwrap();
    }
    // A plan may be for more threads than there are: their shares are done too.
    for (most, options) in [
        ("1", "--memory 1G"),
        ("1", "--memory 1G --threads 5"),
        ("1", "--memory 20M"),
        ("1", "--memory 2M"),
        ("4", "--memory 1G"),
        ("4", "--memory 1G --threads 8"),
        ("4", "--memory 20M"),
    ] {
        let mut run = Command::new("prlimit");
        run.arg(format!("--nproc={most}")).arg(&command).args([
            "transpose",
            "a.npy",
            "-o",
            "b.npy",
        ]);
        run.args(options.split(' ')).env("RAYON_NUM_THREADS", "8").env_remove("TURNTILE_WISDOM");
        run.current_dir(&directory);
        if rustix::process::geteuid().is_root() {
            run.uid(NOBODY).gid(NOBODY);
        }
        let output = match run.output() {
            Ok(output) => output,
            Err(error) => return eprintln!("prlimit is missing: {error}"),
        };
        let case = format!("{most} {options}");
        let errors = ended(&case, &output, 0, &["note: only", "others cannot be started"]);
        assert!(!errors.contains("panicked"), "{errors}");
        assert!(directory.read("b.npy") == after, "{case}");
        fs::remove_file(directory.at("b.npy")).unwrap();
    }
}

#[test]
fn too_little_memory_is_rejected() {
    let directory = directory();
    directory.write("a.npy", &pair(601, 403)[0]);
    directory.write("empty.npy", npy("'<f4'", 'C', &[0, 403], b""));
    for (memory, have) in [("0", "0 B may be used"), ("1023K", "1.0 MB may be used")] {
        let words = &["a.npy: needs at least 1.0 MB of memory", have, "(--memory)"];
        for output in ["-i", "-o b.npy", "-o b.npy --dry-run"] {
            directory.bad(&format!("transpose a.npy {output} --memory {memory}"), 1, words);
        }
        directory.good(&format!("transpose empty.npy -o e.npy --memory {memory}"));
    }
}

/// Memory for a gigabyte, or for its blocks, that cannot be allocated: the message names the file, and nothing is changed.
#[test]
fn memory_that_cannot_be_allocated_is_an_error() {
    let directory = directory();
    let head = npy("'<f4'", 'C', &[16384, 16384], b"");
    directory.write("a.npy", &head);
    let file = fs::File::options().write(true).open(directory.at("a.npy")).unwrap();
    file.set_len((head.len() + (1 << 30)) as u64).unwrap();
    let turntile = env!("CARGO_BIN_EXE_turntile");
    for options in ["", "--memory 900M", "--memory 4G --workspace-limit 64M"] {
        let line = format!("ulimit -v 200000; exec {turntile} transpose a.npy -o b {options}");
        let mut command = Command::new("sh");
        let ran = command.args(["-c", &line]).current_dir(&directory).output().unwrap();
        let words = ["error: not enough memory for a.npy", "could not be allocated; --memory"];
        ended(&line, &ran, 1, &words);
        assert!(!directory.at("b").exists());
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
        "transpose a.npy -i --threads 0",
        "transpose a.npy b.npy c.npy",
        "plan 3x5 --dtype f4 --device abacus",
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
            assert!(text.starts_with("error: ") && text.ends_with('\n'), "{line}: {text:?}");
            writes += 1;
        }
        assert!(writes > 0, "{line}");
    }
}
