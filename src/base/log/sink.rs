//! Where lines go: standard output, standard error or the file of `MCCL_DEBUG_FILE`.
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;

use tracing_subscriber::fmt::MakeWriter;

use crate::base::env::{Env, LogLevel};

#[derive(Clone)]
pub(super) enum Sink {
    Stdout,
    Stderr,
    File(Arc<File>),
}

impl Sink {
    /// The sink that the settings name; standard output when the file cannot be made.
    pub(super) fn open(env: &Env) -> Self {
        let Some(pattern) = env.debug_file.as_deref().filter(|_| env.debug > LogLevel::Version) else {
            return Self::Stdout;
        };
        match expand(pattern, super::line::host(), std::process::id()).as_str() {
            "/dev/stdout" => Self::Stdout,
            "/dev/stderr" => Self::Stderr,
            path => match File::create(path) {
                Ok(file) => Self::File(Arc::new(file)),
                Err(error) => {
                    // The log itself is what failed, so this cannot be a log line; it goes where the log now goes.
                    let _ = writeln!(
                        io::stdout(),
                        "MCCL_DEBUG_FILE: {path}: {error}; the log stays on standard output"
                    );
                    Self::Stdout
                }
            },
        }
    }
}

impl<'a> MakeWriter<'a> for Sink {
    type Writer = Sink;

    fn make_writer(&'a self) -> Sink {
        self.clone()
    }
}

impl Write for Sink {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout => {
                let mut out = io::stdout().lock();
                out.write_all(line)?;
                out.flush()?;
                Ok(line.len())
            }
            Self::Stderr => io::stderr().write(line),
            Self::File(file) => file.as_ref().write(line),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// `%h` becomes the host name, `%p` the process id, `%%` a percent sign; anything else stays.
fn expand(pattern: &str, host: &str, pid: u32) -> String {
    let mut path = String::new();
    let mut rest = pattern.chars();
    while let Some(letter) = rest.next() {
        match (letter, rest.clone().next()) {
            ('%', Some('h')) => path.push_str(host),
            ('%', Some('p')) => path.push_str(&pid.to_string()),
            ('%', Some('%')) => path.push('%'),
            _ => {
                path.push(letter);
                continue;
            }
        }
        rest.next();
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_name_knows_host_and_process() {
        assert_eq!(expand("/tmp/log.%h.%p", "box", 42), "/tmp/log.box.42");
        assert_eq!(expand("100%%-%x%", "box", 42), "100%-%x%");
    }

    #[test]
    fn a_line_reaches_the_file_in_one_write() {
        let path = std::env::temp_dir().join(format!("mccl-log-test-{}", std::process::id()));
        let vars = [("MCCL_DEBUG", "INFO"), ("MCCL_DEBUG_FILE", path.to_str().unwrap())];
        let env = Env::from_vars(vars.map(|(name, text)| (name.to_string(), text.to_string())));
        let mut sink = Sink::open(&env);
        assert_eq!(sink.write(b"one line\n").unwrap(), 9);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one line\n");
        std::fs::remove_file(path).unwrap();
    }
}
