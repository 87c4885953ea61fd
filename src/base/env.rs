//! Every environment variable of the library, in one struct that is read once.
use std::sync::OnceLock;

/// The process's settings.
pub fn get() -> &'static Env {
    static ENV: OnceLock<Env> = OnceLock::new();
    ENV.get_or_init(Env::default)
}

#[derive(Debug, Clone, Default)]
pub struct Env {}
