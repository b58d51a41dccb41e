//! Finds a word in the text files of the workspace, and says in which lines.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const MAX_FILES: usize = 2_000;
const MAX_BYTES: u64 = 1 << 20;
const MAX_HITS: usize = 500;

/// Finds the text of a member; the schema lets it have letters, digits and _ alone.
fn word<'a>(input: &'a str, name: &str) -> Option<&'a str> {
    let start = input.find(&format!("\"{name}\":\""))? + name.len() + 4;
    input[start..].split('"').next()
}

fn quoted(text: &str) -> String {
    let mut made = String::from("\"");
    for each in text.chars() {
        match each {
            '"' | '\\' => made.extend(['\\', each]),
            each if (each as u32) < 0x20 => made.push_str(&format!("\\u{:04x}", each as u32)),
            each => made.push(each),
        }
    }
    made.push('"');
    made
}

/// Lists files below a folder in their order; links are not followed.
fn files(folder: &Path, suffix: &str, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Ok(seen) = fs::symlink_metadata(&path) else { continue };
        if found.len() >= MAX_FILES {
            return;
        } else if seen.is_dir() {
            files(&path, suffix, found);
        } else if seen.is_file() && seen.len() <= MAX_BYTES {
            if path.extension().is_some_and(|last| last == suffix) {
                found.push(path);
            }
        }
    }
}

fn lines(text: &str, wanted: &str) -> Vec<usize> {
    let hit = |line: &str| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|each| each == wanted)
    };
    text.lines().enumerate().filter(|(_, line)| hit(line)).map(|(at, _)| at + 1).collect()
}

fn main() -> ExitCode {
    let input = env::var("HOLON_INPUT_JSON").unwrap_or_default();
    let (Some(wanted), Some(suffix)) = (word(&input, "word"), word(&input, "suffix")) else {
        eprintln!("word and suffix are texts");
        return ExitCode::FAILURE;
    };
    let Ok(root) = env::var("HOLON_WORKSPACE_ROOT") else {
        eprintln!("there is no workspace");
        return ExitCode::FAILURE;
    };
    let root = PathBuf::from(root);
    let mut found = Vec::new();
    files(&root, suffix, &mut found);
    let mut hits = Vec::new();
    for path in &found {
        let text = fs::read_to_string(path).unwrap_or_default();
        let name = path.strip_prefix(&root).unwrap_or(path).to_string_lossy();
        for line in lines(&text, wanted) {
            hits.push(format!("{{\"file\":{},\"line\":{line}}}", quoted(&name)));
        }
    }
    let cut = hits.len() > MAX_HITS;
    hits.truncate(MAX_HITS);
    println!("{{\"files\":{},\"hits\":[{}],\"cut\":{cut}}}", found.len(), hits.join(","));
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_words_are_found() {
        assert_eq!(lines("a TODO\nTODOS\nTODO: b", "TODO"), [1, 3]);
    }

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted("a\"b\n"), "\"a\\\"b\\u000a\"");
    }
}
