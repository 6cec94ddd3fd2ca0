//! Cuts a PTX text into one self-contained module per kernel.
//!
//! The driver compiles a module as a whole when it is loaded. With each kernel in a module of its
//! own, with just the functions and variables it uses, starting one kernel takes the same time
//! however many others there are.

use std::collections::{HashMap, HashSet};

/// A module with one kernel.
#[derive(Debug)]
pub struct Module {
    /// Name of the kernel.
    pub entry: String,
    /// The PTX text.
    pub text: String,
}

/// Kernels of which it is stated how large their blocks are at most, and for some how many a multiprocessor
/// should hold, by the beginning and the end of their names: so a thread gets as many registers as that leaves.
///
/// Resident kernels would take twice as many, and then a multiprocessor could not be filled; what they do
/// not need in the inner loop may go to local memory. Streaming ones would take fewer and wait for one load after the
/// other; those in f32 are the ones that need none but the registers, on any architecture (but for what
/// `scripts/check-ptx` says).
const BLOCKS: &[(&str, &str, u32, Option<u32>)] = &[
    ("fit_judge_", "", 512, None),
    ("fit_matrix_ceiling_", "", 256, None),
    ("fit_matrix_16_by_32_", "", 128, Some(3)),
    ("fit_matrix_4_by_64_", "", 128, Some(3)),
    ("fit_matrix_", "", 128, Some(2)),
    ("floyd_warshall_", "", 1024, None),
    ("paths_ceiling_", "", 256, Some(2)),
    ("paths_closure_", "f64", 256, None),
    ("paths_closure_", "", 256, Some(2)),
    ("paths_mirror_", "", 256, None),
    ("paths_outer_", "", 256, Some(2)),
    ("paths_panels_via_", "", 256, None),
    ("paths_panels_", "", 256, Some(2)),
    ("paths_pivots_", "", 256, Some(1)),
    ("swarm_quartet_", "_f32", 256, Some(3)),
    ("swarm_quartet_", "_f64", 256, Some(2)),
    ("swarm_resident_", "_f32", 1024, Some(1)),
    ("swarm_resident_", "_f64", 512, Some(1)),
    ("swarm_tiered_", "_f32", 1024, Some(1)),
    ("swarm_tiered_", "_f64", 512, Some(1)),
    ("swarm_together_", "_f32", 1024, Some(1)),
    ("swarm_together_", "_f64", 512, Some(1)),
    ("swarm_turns_", "_f32", 512, Some(1)),
    ("swarm_turns_", "_f64", 256, Some(1)),
    ("swarm_step_", "_f64", 512, Some(1)),
    ("swarm_step_calibration_", "f32", 512, Some(2)),
    ("swarm_step_cubic_", "f32", 512, Some(2)),
    ("swarm_step_dixon_price_", "f32", 512, Some(2)),
    ("swarm_step_ellipsoid_", "f32", 512, Some(2)),
    ("swarm_step_lennard_jones_", "f32", 512, Some(2)),
    ("swarm_step_levy_", "f32", 512, Some(2)),
    ("swarm_step_rastrigin_", "f32", 512, Some(2)),
    ("swarm_step_rosenbrock_", "f32", 512, Some(2)),
    ("swarm_step_schwefel_", "f32", 512, Some(2)),
    ("swarm_step_sphere_", "f32", 512, Some(2)),
    ("swarm_step_styblinski_tang_", "f32", 512, Some(2)),
];

/// Kernels whose instructions only later GPUs have, by the beginning and the end of their names, with the
/// least header of their modules.
const NEWER: &[(&str, &str, &str)] = &[
    ("fit_matrix_", "", ".version 8.0\n.target sm_90\n.address_size 64"),
    ("", "_u16", ".version 8.0\n.target sm_90\n.address_size 64"),
];

/// Kernels that keep the address of their shared memory, by the beginning of their names: those that access it
/// all the time and in many places.
const KEEPING: &[&str] = &["swarm_resident_", "swarm_tiered_", "swarm_together_", "swarm_turns_"];

/// An entry that reads the address of the block's shared memory once.
///
/// Since sm_90 that address depends on the block's rank in its cluster. The assembler makes it anew wherever it is
/// used, from a special register which takes long to read, unless it cannot know what it is: so a shuffle.
fn with_kept_base(entry: &str) -> String {
    const ADDRESS: &str = "flockwork_shared;";
    const KEPT: &str = "%flockwork_base";

    let Some(body) = entry.find("\n{\n").filter(|_| entry.contains(ADDRESS)) else {
        return entry.to_owned();
    };
    let (head, body) = entry.split_at(body + "\n{\n".len());
    let body = body.replace(ADDRESS, &format!("{KEPT};"));
    format!(
        "{head}.reg .b32 {KEPT};\nmov.u32 {KEPT}, {ADDRESS}\nshfl.sync.idx.b32 {KEPT}, {KEPT}, 0, 31, \
         -1;\n{body}"
    )
}

/// A directive at the top level: a function, a variable.
struct Item<'a> {
    symbol: &'a str,
    is_entry: bool,
    lines: Vec<&'a str>,
}

/// The modules of a PTX text, in its order of entries.
pub fn modules(text: &str) -> Result<Vec<Module>, String> {
    let (header, items) = parse(text)?;
    let mut by_symbol: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        by_symbol.entry(item.symbol).or_default().push(index);
    }
    let uses: Vec<HashSet<usize>> = items
        .iter()
        .map(|item| {
            item.lines
                .iter()
                .flat_map(|line| identifiers(line))
                .filter_map(|word| by_symbol.get(word))
                .flatten()
                .copied()
                .collect()
        })
        .collect();

    let mut modules = Vec::new();
    for (index, item) in items.iter().enumerate().filter(|(_, item)| item.is_entry) {
        let mut needed = HashSet::from([index]);
        let mut open = vec![index];
        while let Some(next) = open.pop() {
            open.extend(uses[next].iter().filter(|&&used| needed.insert(used)));
        }
        let newer = NEWER
            .iter()
            .find(|(start, end, _)| item.symbol.starts_with(start) && item.symbol.ends_with(end));
        let mut text =
            newer.map_or_else(|| header.join("\n"), |(.., least)| raised(&header, least));
        for (_, part) in items.iter().enumerate().filter(|(i, _)| needed.contains(i)) {
            text.push_str("\n\n");
            let mut lines = part.lines.clone();
            let bound = part.is_entry.then(|| directives(part.symbol)).flatten();
            let body = lines.iter().position(|line| line.trim() == "{");
            if let (Some(bound), Some(body)) = (&bound, body) {
                lines.insert(body, bound);
            }
            let lines = lines.join("\n");
            let keeps = part.is_entry && KEEPING.iter().any(|start| part.symbol.starts_with(start));
            text.push_str(&if keeps { with_kept_base(&lines) } else { lines });
        }
        text.push('\n');
        modules.push(Module { entry: item.symbol.to_owned(), text });
    }
    if modules.is_empty() {
        return Err("no .entry in it".to_owned());
    }
    Ok(modules)
}

/// A line's first word.
fn directive(line: &str) -> Option<&str> {
    line.split_whitespace().next()
}

/// The lines of `least`, or of `header` where those state more.
fn raised(header: &[&str], least: &str) -> String {
    let number = |line: &str| {
        let parts = line.split(|c: char| !c.is_ascii_digit());
        parts.filter_map(|digits| digits.parse::<u32>().ok()).collect::<Vec<_>>()
    };
    let higher = |line| {
        let stated = header.iter().find(|stated| directive(stated) == directive(line));
        stated.copied().filter(|stated| number(stated) > number(line)).unwrap_or(line)
    };
    least.lines().map(higher).collect::<Vec<_>>().join("\n")
}

/// The directives that state a kernel's blocks, if it has some.
fn directives(entry: &str) -> Option<String> {
    let (.., threads, blocks) =
        BLOCKS.iter().find(|(start, end, ..)| entry.starts_with(start) && entry.ends_with(end))?;
    let blocks = blocks.map_or(String::new(), |blocks| format!("\n.minnctapersm {blocks}"));
    Some(format!(".maxntid {threads}, 1, 1{blocks}"))
}

fn parse(text: &str) -> Result<(Vec<&str>, Vec<Item<'_>>), String> {
    let mut header = Vec::new();
    let mut items: Vec<Item> = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut depth = 0_usize;
    for line in text.lines() {
        let code = line.split("//").next().unwrap_or_default();
        if open.is_empty() {
            let start = code.trim();
            if start.is_empty() {
                continue;
            }
            if [".version", ".target", ".address_size"].iter().any(|d| start.starts_with(d)) {
                header.push(line);
                continue;
            }
        }
        open.push(line);
        depth += code.matches('{').count();
        let closing = code.matches('}').count();
        depth = depth.checked_sub(closing).ok_or(format!("unbalanced braces at: {line}"))?;
        if depth == 0 && (closing > 0 || code.trim_end().ends_with(';')) {
            items.push(item(std::mem::take(&mut open))?);
        }
    }
    if open.is_empty() { Ok((header, items)) } else { Err("ends inside a function".to_owned()) }
}

/// The symbol is the last identifier before the parameters, the array bounds or the initialiser of
/// the directive's first line; a function's return value stands in parentheses before its name.
fn item(lines: Vec<&str>) -> Result<Item<'_>, String> {
    let first = lines[0];
    let is_entry = first.contains(".entry");
    let declaration = match first.split_once(".func") {
        Some((_, rest)) if rest.trim_start().starts_with('(') => {
            rest.split_once(')').map_or("", |(_, rest)| rest)
        }
        Some((_, rest)) => rest,
        None => first,
    };
    let end = declaration.find(['(', '[', '=', ';', '{']).unwrap_or(declaration.len());
    let symbol = identifiers(&declaration[..end]).last().ok_or(format!("no symbol in: {first}"))?;
    Ok(Item { symbol, is_entry, lines })
}

/// The words of a line that may be symbols: not directives (`.reg`) nor registers (`%r1`).
fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    code.split(|c: char| !(c.is_ascii_alphanumeric() || "_$.%".contains(c)))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || "_$".contains(c)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
//
// Generated
.version 7.0
.target sm_70
.address_size 64

.extern .shared .align 16 .b8 pool[];
.global .align 4 .b8 table[16] = {1, 2, 3};
.global .align 8 .u64 other = table;
.func (.param .b32 r0) helper(.param .b32 p0);

\t// .globl\tfirst
.visible .entry first(
\t.param .b64 first_param_0
)
{
\t.reg .b32 %r<3>;
\t{ .reg .b32 tmp; mov.b64 {tmp, %r2}, %rd2; }
\tmov.u32 %r1, pool;
\tret;
}
.visible .entry second()
{
\tcall.uni (r0), helper, (p0); // uses table? no
\tret;
}
.func (.param .b32 r0) helper(
\t.param .b32 p0
)
{
\tld.global.u64 %rd1, [other];
\tret;
}
";

    #[test]
    fn a_module_has_what_its_kernel_uses_and_no_more() {
        let modules = modules(TEXT).unwrap();
        assert_eq!(modules.iter().map(|m| &*m.entry).collect::<Vec<_>>(), ["first", "second"]);
        let [first, second] = &modules[..] else { unreachable!() };
        assert!(first.text.starts_with(".version 7.0\n.target sm_70\n.address_size 64\n"));
        assert!(first.text.contains(".shared .align 16 .b8 pool[];"));
        for absent in ["helper", "table", "other", "second"] {
            assert!(!first.text.contains(absent), "{absent} in:\n{}", first.text);
        }
        assert_eq!(second.text.matches("helper(").count(), 2, "declaration and definition");
        assert!(second.text.contains("table[16]") && second.text.contains("other = table"));
        assert!(!second.text.contains("pool") && !second.text.contains("first"));
    }

    #[test]
    fn some_kernels_read_where_their_shared_memory_begins_once() {
        let text = |name: &str| {
            format!(
                ".version 7.0\n.target sm_70\n.address_size 64\n.extern .shared .align 16 .b8 \
                 flockwork_shared[];\n.visible .entry {name}()\n{{\n.reg .b32 %r<9>;\nmov.u32 %r1, \
                 flockwork_shared;\nmov.u32 %r2, flockwork_shared;\nret;\n}}\n"
            )
        };
        let module = |name: &str| modules(&text(name)).unwrap().remove(0).text;
        assert_eq!(module("swarm_step_a_f32").matches(", flockwork_shared;").count(), 2);
        let kept = module("swarm_resident_a_f32");
        assert!(
            kept.contains(
                "{\n.reg .b32 %flockwork_base;\nmov.u32 %flockwork_base, flockwork_shared;\n\
                 shfl.sync.idx.b32 %flockwork_base, %flockwork_base, 0, 31, -1;\n.reg .b32 %r<9>;\n\
                 mov.u32 %r1, %flockwork_base;\nmov.u32 %r2, %flockwork_base;\nret;\n}"
            ),
            "{kept}"
        );
    }

    #[test]
    fn a_newer_kernel_raises_what_its_module_states_and_lowers_nothing() {
        let text =
            |header: &str| format!("{header}\n.address_size 64\n.visible .entry a_u16()\n{{\n}}\n");
        for (states, gets) in [
            (".version 7.0\n.target sm_70", ".version 8.0\n.target sm_90\n"),
            (".version 9.0\n.target sm_75", ".version 9.0\n.target sm_90\n"),
            (".version 10.1\n.target sm_100", ".version 10.1\n.target sm_100\n"),
        ] {
            let modules = modules(&text(states)).unwrap();
            assert!(modules[0].text.starts_with(gets), "{states}: {}", modules[0].text);
        }
    }

    #[test]
    fn a_broken_text_is_refused() {
        assert!(modules(".version 7.0\n.visible .entry a()\n{\n").unwrap_err().contains("inside"));
        assert!(modules("}\n").unwrap_err().contains("unbalanced"));
        assert!(modules(".version 7.0\n").unwrap_err().contains("no .entry"));
    }
}
