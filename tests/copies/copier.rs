//! Who copies: the programs that people use, and one that takes its time.

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copier {
    Cp,
    Busybox,
    Dd,
    Tar,
    Rsync,
    /// From front to back, 64 KiB at a time, with a rest after each: the writer is far ahead of it.
    Slow,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Ended {
    Well,
    Badly,
}

impl Copier {
    /// Those of the programs that this machine has.
    pub fn installed() -> Vec<Copier> {
        let programs = [Copier::Cp, Copier::Busybox, Copier::Dd, Copier::Tar, Copier::Rsync];
        let (there, missing): (Vec<Copier>, Vec<Copier>) =
            programs.into_iter().partition(|copier| copier.is_installed());
        if !missing.is_empty() {
            println!("not installed, and not tried: {missing:?}");
        }
        there
    }

    fn program(self) -> &'static str {
        match self {
            Copier::Cp | Copier::Slow => "cp",
            Copier::Busybox => "busybox",
            Copier::Dd => "dd",
            Copier::Tar => "tar",
            Copier::Rsync => "rsync",
        }
    }

    fn is_installed(self) -> bool {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&paths).any(|folder| folder.join(self.program()).exists())
    }

    /// `to` is a new name in a folder of its own.
    pub fn start(self, from: &Path, to: &Path) -> Running {
        let mut command = Command::new(self.program());
        let (source, target) = (from.display().to_string(), to.display().to_string());
        match self {
            Copier::Cp => command.args([&source, &target]),
            Copier::Busybox => command.args(["cp", &source, &target]),
            Copier::Dd => command.args([format!("if={source}"), format!("of={target}"), "bs=64k".to_owned()]),
            Copier::Rsync => command.args([&source, &target]),
            Copier::Tar => return Running::Archive(archive(command, from, to), to.to_owned()),
            Copier::Slow => return Running::own(from, to),
        };
        Running::Program(command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("a copier"))
    }
}

fn archive(mut command: Command, from: &Path, to: &Path) -> Child {
    let name = from.file_name().expect("a file");
    command.arg("-cf").arg(to.with_extension("tar")).arg("-C").arg(from.parent().expect("a folder")).arg(name);
    command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("tar")
}

pub enum Running {
    Program(Child),
    /// Which is opened afterwards.
    Archive(Child, PathBuf),
    /// As a thread of this process; ended, it leaves what it had written.
    Own(Arc<AtomicBool>, JoinHandle<()>),
}

impl Running {
    fn own(from: &Path, to: &Path) -> Running {
        let (source, mut target) = (File::open(from).expect("the file"), File::create(to).expect("the copy"));
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        Running::Own(stop, std::thread::spawn(move || slowly(&source, &mut target, &stopped)))
    }

    pub fn wait(self) -> Ended {
        let ended = match self {
            // tar says with 1 that the file changed while it was read.
            Running::Archive(mut child, to) => {
                let told = child.wait().expect("tar").code();
                let folder = to.parent().expect("a folder");
                let tar = Command::new("tar").arg("-xf").arg(to.with_extension("tar")).arg("-C").arg(folder).status();
                matches!(told, Some(0 | 1)) && tar.expect("tar").success()
            }
            Running::Program(mut child) => child.wait().expect("a copier").success(),
            Running::Own(_, thread) => thread.join().is_ok(),
        };
        if ended { Ended::Well } else { Ended::Badly }
    }

    /// Writes nothing any more.
    pub fn kill(self) {
        match self {
            Running::Program(mut child) | Running::Archive(mut child, _) => {
                child.kill().expect("a copier");
                child.wait().expect("a copier");
            }
            Running::Own(stop, thread) => {
                stop.store(true, Ordering::SeqCst);
                thread.join().expect("a copier");
            }
        }
    }
}

fn slowly(from: &File, to: &mut File, stop: &AtomicBool) {
    let (mut from, mut buffer) = (from, vec![0; 64 << 10]);
    while !stop.load(Ordering::SeqCst) {
        match from.read(&mut buffer).expect("the file") {
            0 => return,
            n => to.write_all(&buffer[..n]).expect("the copy"),
        }
        std::thread::sleep(Duration::from_millis(3));
    }
}
