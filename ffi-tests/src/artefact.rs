//! Committed files that a test derives anew: compared, or rewritten when `MCCL_BLESS` is 1.
use std::path::Path;

/// Compares the committed `path` (below the root) with what it should be.
///
/// # Panics
/// When they differ, with the first differing line and the command that rewrites the file.
pub fn check(path: &str, fresh: &str) {
    let file = crate::root().join(path);
    if std::env::var_os("MCCL_BLESS").is_some_and(|bless| bless == "1") {
        write_if_new(&file, fresh);
        return;
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    if let Err(difference) = compare(&committed, fresh) {
        panic!(
            "{path} is not what the source says: {difference}\n`make bless` rewrites it; review the difference"
        );
    }
}

/// Describes the first difference of two texts.
pub fn compare(committed: &str, fresh: &str) -> Result<(), String> {
    if committed == fresh {
        return Ok(());
    }
    let (mut old, mut new) = (committed.lines(), fresh.lines());
    let mut line = 0;
    loop {
        line += 1;
        let (was, is) = (old.next(), new.next());
        if was != is || was.is_none() {
            let show =
                |text: Option<&str>| text.map_or("end of file".to_string(), |text| format!("'{text}'"));
            return Err(format!("line {line} is {}, should be {}", show(was), show(is)));
        }
    }
}

fn write_if_new(file: &Path, fresh: &str) {
    if std::fs::read_to_string(file).is_ok_and(|old| old == fresh) {
        return;
    }
    std::fs::create_dir_all(file.parent().expect("artefacts lie in folders")).expect("create the folder");
    std::fs::write(file, fresh).expect("write the artefact");
}
