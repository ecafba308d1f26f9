//! The timing line of a cue.

/// When a cue is shown, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Timing {
    pub start: u64,
    pub end: u64,
}

/// Whether a line looks like a timing line.
pub(super) fn has_arrow(line: &str) -> bool {
    line.contains("-->")
}

/// Parses `00:01:02,345 --> 00:01:04,000`, with `.` or `,`, with or without hours, and with
/// anything after a space: positions and settings are kept but not parsed.
pub(super) fn parse(line: &str) -> Option<Timing> {
    let (start, rest) = line.split_once("-->")?;
    let end = rest.split_whitespace().next()?;
    Some(Timing { start: moment(start.trim())?, end: moment(end)? })
}

fn moment(text: &str) -> Option<u64> {
    let (clock, fraction) = match text.split_once([',', '.']) {
        Some((clock, fraction)) => (clock, fraction),
        None => (text, "0"),
    };
    let parts: Vec<u64> = clock.split(':').map(|part| digits(part, 6)).collect::<Option<_>>()?;
    let seconds = match parts[..] {
        [hours, minutes, seconds] => (hours * 60 + minutes) * 60 + seconds,
        [minutes, seconds] => minutes * 60 + seconds,
        _ => return None,
    };
    let scale = 10u64.pow(3u32.checked_sub(fraction.len() as u32)?);
    Some(seconds * 1000 + digits(fraction, 3)? * scale)
}

fn digits(text: &str, most: usize) -> Option<u64> {
    let fits = (1..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if fits { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_formats_are_read() {
        let expected = Some(Timing { start: 62_345, end: 3_664_000 });
        assert_eq!(parse("00:01:02,345 --> 01:01:04,000"), expected);
        assert_eq!(parse("01:02.345-->1:01:04.0 line:0 position:20%"), expected);
        assert_eq!(parse("00:01:02,345 --> 01:01:04,000  X1:100 X2:200"), expected);
    }

    #[test]
    fn rejects_invalid_timings() {
        for line in [
            "",
            "-->",
            "1 --> 2",
            "00:01,5 --> ",
            "00:0a:02,345 --> 00:01:04,000",
            "a --> b",
            "00:01:02,3456 --> 00:01:04,000",
            "::: --> :::",
            "-1:00 --> 0:01",
        ] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(line in "[0-9:,.> -]{0,40}", any in any::<String>()) {
            let _ = parse(&line);
            let _ = parse(&any);
        }
    }
}
