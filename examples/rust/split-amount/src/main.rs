//! Splits an amount of cents into parts that differ by one cent at most and lose none.

use std::env;
use std::process::ExitCode;

/// Finds the whole number of a member; the input is canonical JSON of the input schema.
fn whole(input: &str, name: &str) -> Option<u64> {
    let start = input.find(&format!("\"{name}\":"))? + name.len() + 3;
    let digits: String = input[start..].chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn split(cents: u64, parts: u64) -> Vec<u64> {
    let (each, rest) = (cents / parts, cents % parts);
    (0..parts).map(|number| each + u64::from(number < rest)).collect()
}

fn main() -> ExitCode {
    let input = env::var("HOLON_INPUT_JSON").unwrap_or_default();
    let (Some(cents), Some(parts)) = (whole(&input, "cents"), whole(&input, "parts")) else {
        eprintln!("cents and parts are whole numbers");
        return ExitCode::FAILURE;
    };
    if parts == 0 {
        eprintln!("nothing can be split into no parts");
        return ExitCode::FAILURE;
    }
    let made: Vec<String> = split(cents, parts).iter().map(u64::to_string).collect();
    println!("{{\"parts\":[{}]}}", made.join(","));
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cent_is_lost() {
        assert_eq!(split(100, 3), [34, 33, 33]);
        assert_eq!(split(7, 7).iter().sum::<u64>(), 7);
    }

    #[test]
    fn members_are_found_by_name() {
        assert_eq!(whole("{\"cents\":12,\"parts\":3}", "parts"), Some(3));
        assert_eq!(whole("{}", "cents"), None);
    }
}
