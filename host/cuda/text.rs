//! Changes to a kernel's PTX before the driver compiles it for particular launches.
//!
//! The driver compiles a kernel when it is loaded, and uses what it knows of the launches: the
//! threads of a block decide how many registers a thread may have, and if arguments that steer the
//! kernel are constants, the code they rule out disappears together with its registers.

use std::fmt::Write;
use std::ops::Range;

use flockwork_device::kernel::Constants;

/// Where a module's text states the most threads per block, if it does.
fn stated(text: &str) -> Option<Range<usize>> {
    const DIRECTIVE: &str = "\n.maxntid ";

    let start = text.find(DIRECTIVE)? + DIRECTIVE.len();
    let end = start + text[start..].find(|c: char| !c.is_ascii_digit())?;
    Some(start..end)
}

/// The module's text with this limit on the threads per block, if it states a limit.
pub(super) fn narrowed(text: &str, threads: u32) -> String {
    let mut text = text.to_owned();
    if let Some(place) = stated(&text) {
        text.replace_range(place, &threads.to_string());
    }
    text
}

/// The module's text in which kernel `name` has these words of its arguments as constants, wherever
/// it loads them in a way recognised here. Other loads still read the arguments, which hold the
/// same values.
pub(crate) fn with_constants(text: &str, name: &str, constants: &Constants) -> String {
    // The only parameter, by the name that LLVM gives it.
    let parameter = format!("[{name}_param_0");
    let mut changed = String::with_capacity(text.len() + (1 << 10));
    for line in text.split_inclusive('\n') {
        let constant = Load::parse(line.trim(), &parameter)
            .and_then(|load| load.with_constants(&parameter, constants));
        match constant {
            Some(constant) => changed.push_str(&constant),
            None => changed.push_str(line),
        }
    }
    changed
}

/// A load of a number from the arguments: `ld.param.b64 %rd1, [name_param_0+8];`.
#[derive(Debug, PartialEq)]
struct Load<'a> {
    /// 4 or 8.
    bytes: usize,
    register: &'a str,
    offset: usize,
}

impl<'a> Load<'a> {
    fn parse(line: &'a str, parameter: &str) -> Option<Self> {
        let load = line.strip_prefix("ld.param.")?;
        let (kind, load) = load.split_once(char::is_whitespace)?;
        let bytes = match kind {
            "b32" | "u32" | "s32" => 4,
            "b64" | "u64" | "s64" => 8,
            // Numbers of 8 and 16 bits, vectors, and floats, which are never specialized.
            _ => return None,
        };
        let (register, place) = load.split_once(',')?;
        let place = place.trim().strip_prefix(parameter)?.strip_suffix("];")?;
        let offset = match place.strip_prefix('+') {
            Some(offset) => offset.parse().ok()?,
            None if place.is_empty() => 0,
            // Another parameter whose name starts alike.
            None => return None,
        };
        Some(Self { bytes, register: register.trim(), offset })
    }

    /// An equivalent with constants; `None` if the load has no constant.
    fn with_constants(&self, parameter: &str, constants: &Constants) -> Option<String> {
        let Self { bytes, register, offset } = *self;
        let words = [constants.at(offset), constants.at(offset + 4)];
        if bytes == 4 {
            return words[0].map(|word| format!("mov.b32 {register}, {word};\n"));
        }
        if words == [None; 2] {
            return None;
        }
        let mut text = String::from("{\n.reg .b32 flockwork_low, flockwork_high;\n");
        for (nth, word) in words.into_iter().enumerate() {
            let half = ["flockwork_low", "flockwork_high"][nth];
            // Writing to a string cannot fail.
            let _ = match word {
                Some(word) => writeln!(text, "mov.b32 {half}, {word};"),
                None => writeln!(text, "ld.param.b32 {half}, {parameter}+{}];", offset + 4 * nth),
            };
        }
        let _ = writeln!(text, "mov.b64 {register}, {{flockwork_low, flockwork_high}};\n}}");
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fewer_threads_than_stated_can_be_stated() {
        let text = ".entry a(\n)\n.maxntid 1024, 1, 1\n{\n}\n";
        assert_eq!(narrowed(text, 256), text.replace("1024", "256"));
        assert_eq!(narrowed("no PTX", 32), "no PTX");
    }

    #[test]
    fn loads_of_specialization_constants_become_constants() {
        let constants = Constants::NONE.with(0, 5).with(4, 0).with(12, 4_000_000_000).with(20, 1);
        let of = |text: &str| with_constants(text, "a", &constants);
        assert_eq!(of("\tld.param.u32 \t%r1, [a_param_0];\n"), "mov.b32 %r1, 5;\n");
        assert_eq!(of("ld.param.b32 \t%r1, [a_param_0+12];\n"), "mov.b32 %r1, 4000000000;\n");
        let half = "{\n.reg .b32 flockwork_low, flockwork_high;\n";
        let whole = "mov.b64 %rd1, {flockwork_low, flockwork_high};\n}\n";
        assert_eq!(
            of("ld.param.b64 \t%rd1, [a_param_0];\n"),
            format!("{half}mov.b32 flockwork_low, 5;\nmov.b32 flockwork_high, 0;\n{whole}")
        );
        assert_eq!(
            of("ld.param.b64 \t%rd1, [a_param_0+8];\n"),
            format!(
                "{half}ld.param.b32 flockwork_low, [a_param_0+8];\nmov.b32 flockwork_high, \
                 4000000000;\n{whole}"
            )
        );
        assert_eq!(
            of("ld.param.b64 \t%rd1, [a_param_0+20];\n"),
            format!(
                "{half}mov.b32 flockwork_low, 1;\nld.param.b32 flockwork_high, [a_param_0+24];\n{whole}"
            )
        );
    }

    /// So many fits of a formula are calculated with as many parameters as it has, not with eight.
    #[cfg(not(feature = "rust-cuda"))]
    #[test]
    fn the_template_of_many_fits_has_no_loads_of_its_sizes_left() {
        let image = crate::kernel_images().first().expect("one image");
        for name in ["fit_many_formula_row_f32", "fit_many_formula_row_f64"] {
            let text = image.text(name).expect("it is there");
            // The number of columns, and behind it that of parameters.
            let constants = Constants::NONE.with(0, 77).with(4, 88);
            let changed = with_constants(&text, name, &constants);
            assert!(changed.contains(" 77;") && changed.contains(" 88;"), "{name}");
            for left in [format!("[{name}_param_0]"), format!("[{name}_param_0+4]")] {
                assert!(!changed.contains(&left), "{left}");
            }
        }
    }

    /// The available kernels load specialization constants in recognised ways.
    #[cfg(not(feature = "rust-cuda"))]
    #[test]
    fn kernels_on_the_chip_have_no_loads_of_specialization_constants_left() {
        for image in crate::kernel_images() {
            for name in image.names() {
                if !["swarm_resident_", "swarm_cooperative_"].iter().any(|k| name.starts_with(k)) {
                    continue;
                }
                let text = &image.text(name).expect("it is there");
                // A function without data has no bytes: the number of dimensions comes first.
                let first = format!("[{name}_param_0]");
                let constants = Constants::NONE.with(0, 77);
                let changed = with_constants(text, name, &constants);
                assert!(text.contains(&first) && !changed.contains(&first), "{name}");
                assert!(changed.contains(" 77;"), "{name}");
            }
        }
    }

    #[test]
    fn everything_else_stays_as_it_is() {
        let constants = Constants::NONE.with(0, 5);
        for line in [
            "ld.param.b64 \t%rd1, [a_param_0+8];\n",
            "ld.param.b64 \t%rd1, [a_param_01];\n",
            "ld.param.b64 \t%rd1, [ba_param_0];\n",
            "ld.param.b16 \t%rs1, [a_param_0];\n",
            "ld.param.f32 \t%f1, [a_param_0];\n",
            "ld.param.v2.b32 \t{%r1, %r2}, [a_param_0];\n",
            "ld.global.b32 \t%r1, [%rd1];\n",
            "mov.b64 \t%rd1, a_param_0;\n",
            "no PTX",
        ] {
            assert_eq!(with_constants(line, "a", &constants), line);
        }
    }
}
