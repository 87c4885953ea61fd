//! Rust source as the tidy test sees it: comments and texts blanked, functions measured. No parser, just braces.

/// A function body's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    /// Line of the `fn`, from 1.
    pub line: usize,
    /// Lines from the `fn` to its closing brace.
    pub lines: usize,
}

/// The source with comments, texts and characters replaced by blanks; lines stay where they are.
pub fn code(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < bytes.len() {
        let len = blank_len(&source[at..]);
        if len == 0 {
            let letter = source[at..].chars().next().unwrap_or(' ');
            out.push(letter);
            at += letter.len_utf8();
        } else {
            out.extend(source[at..at + len].chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }));
            at += len;
        }
    }
    out
}

/// The code before the module of unit tests.
pub fn without_tests(code: &str) -> &str {
    code.find("#[cfg(test)]\nmod tests").map_or(code, |at| &code[..at])
}

/// All functions with a body, nested ones included.
pub fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let starts_word =
            code[..at].chars().next_back().is_none_or(|letter| !letter.is_alphanumeric() && letter != '_');
        let name: String =
            code[at + 3..].chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
        if !starts_word || name.is_empty() {
            continue;
        }
        let Some(len) = body_len(&code[at..]) else { continue };
        let line = code[..at].matches('\n').count() + 1;
        found.push(Function { name, line, lines: code[at..at + len].matches('\n').count() + 1 });
    }
    found
}

/// Bytes from a `fn` to its closing brace; `None` for a declaration.
fn body_len(code: &str) -> Option<usize> {
    let (mut depth, mut nested) = (0, 0i32);
    for (at, letter) in code.char_indices() {
        match letter {
            '(' | '[' if depth == 0 => nested += 1,
            ')' | ']' if depth == 0 => nested -= 1,
            ';' if depth == 0 && nested == 0 => return None,
            '{' => depth += 1,
            '}' if depth == 1 => return Some(at + 1),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Bytes of the comment, text or character at the start; 0 when there is none.
fn blank_len(source: &str) -> usize {
    let until = |end: &str| source.find(end).unwrap_or(source.len());
    if source.starts_with("//") {
        return until("\n");
    }
    if source.starts_with("/*") {
        return source.find("*/").map_or(source.len(), |at| at + 2);
    }
    if source.starts_with('"') {
        return quoted_len(source, '"');
    }
    if let Some(rest) = source.strip_prefix("r") {
        let hashes = rest.len() - rest.trim_start_matches('#').len();
        if rest[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let body = hashes + 2;
            return source[body..].find(&end).map_or(source.len(), |at| body + at + end.len());
        }
    }
    let mut letters = source.chars();
    match (letters.next(), letters.next(), letters.next()) {
        (Some('\''), Some('\\'), _) => quoted_len(source, '\''),
        (Some('\''), Some(letter), Some('\'')) => 2 + letter.len_utf8(),
        _ => 0,
    }
}

fn quoted_len(source: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in source.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            letter if letter == quote => return at + 1,
            _ => {}
        }
    }
    source.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_texts_are_blanked_and_lines_kept() {
        let source = "a(\"x // \\\" {\"); // }\nb('{', '\\'', r#\"\"}\"#); /* {\n */ c::<'a>()";
        let code = code(source);
        assert_eq!(code.matches('\n').count(), source.matches('\n').count());
        assert!(!code.contains('{') && !code.contains('}'));
        assert!(code.contains("b(") && code.contains("c::<'a>()"));
    }

    #[test]
    fn functions_are_measured_from_name_to_brace() {
        let code = "trait T { fn declared(x: [u8; 2]); }\nfn one() { if x {\n} }\nimpl S {\n    fn two(\n    ) {\n    }\n}\n";
        let found: Vec<(String, usize, usize)> = functions(code)
            .into_iter()
            .map(|function| (function.name, function.line, function.lines))
            .collect();
        assert_eq!(found, [("one".to_string(), 2, 2), ("two".to_string(), 5, 3)]);
    }

    #[test]
    fn the_module_of_tests_is_cut_off() {
        assert_eq!(without_tests("fn a() {}\n#[cfg(test)]\nmod tests {}"), "fn a() {}\n");
    }
}
