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
    /// What the kernel states.
    pub facts: Facts,
}

/// What a kernel states of itself: `kernel::Facts` in the device crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The parts of its name: empty where it has none.
    pub family: String,
    /// The objective function or the model inside.
    pub objective: String,
    /// The arithmetic.
    pub precision: String,
    /// The most threads of a block.
    pub threads: Option<u32>,
    /// The fewest blocks of a multiprocessor.
    pub blocks: Option<u32>,
    /// The least target, as 90, and the least version of PTX, if they are its own.
    pub requires: Option<(u32, (u32, u32))>,
    /// Whether the address of shared memory is kept.
    pub keeps_shared_base: bool,
    /// Bytes of stack that it may have, and accesses of local memory where it calculates.
    pub local: (u32, u32),
}

/// The variables beside the entries begin so.
const FACTS: &str = "facts_";

impl Facts {
    /// From the bytes of `kernel::Facts::words`, for the kernel of that name.
    fn parse(entry: &str, bytes: &[u8]) -> Result<Self, String> {
        let words: Vec<u32> = bytes
            .chunks(4)
            .filter_map(|word| Some(u32::from_le_bytes(word.try_into().ok()?)))
            .collect();
        let &[
            family,
            objective,
            precision,
            threads,
            blocks,
            target,
            major,
            minor,
            keeps,
            stack,
            hot,
        ] = &words[..]
        else {
            return Err(format!("{FACTS}{entry} has {} bytes, which are no facts", bytes.len()));
        };
        let other_name = || format!("the parts of {FACTS}{entry} do not make up its name");
        let mut rest = entry;
        let mut part = |length: u32| {
            let part = rest.get(..length as usize)?;
            rest = &rest[length as usize..];
            rest = rest.strip_prefix('_').unwrap_or(rest);
            Some(part.to_owned())
        };
        let (Some(family), Some(objective), Some(precision)) =
            (part(family), part(objective), part(precision))
        else {
            return Err(other_name());
        };
        let parts = [&*family, &*objective, &*precision];
        if parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("_") != entry
        {
            return Err(other_name());
        }
        let stated = |number: u32| (number > 0).then_some(number);
        Ok(Self {
            family,
            objective,
            precision,
            threads: stated(threads),
            blocks: stated(blocks),
            requires: stated(target).map(|target| (target, (major, minor))),
            keeps_shared_base: keeps != 0,
            local: (stack, hot),
        })
    }

    /// As fields separated by tabs: 0 stands for what is not stated.
    pub fn to_line(&self) -> String {
        let Self { family, objective, precision, local: (stack, hot), .. } = self;
        let (threads, blocks) = (self.threads.unwrap_or(0), self.blocks.unwrap_or(0));
        let (target, (major, minor)) = self.requires.unwrap_or_default();
        let keeps = u32::from(self.keeps_shared_base);
        format!(
            "{family}\t{objective}\t{precision}\t{threads}\t{blocks}\t{target}\t{major}\t{minor}\t{keeps}\t{stack}\t\
             {hot}"
        )
    }

    /// From what [`to_line`](Self::to_line) made.
    pub fn from_line(line: &str) -> Result<Self, String> {
        let failed = || format!("no facts of a kernel: {line}");
        let fields: Vec<&str> = line.split('\t').collect();
        let [family, objective, precision, numbers @ ..] = &fields[..] else {
            return Err(failed());
        };
        let numbers: Option<Vec<u32>> = numbers.iter().map(|number| number.parse().ok()).collect();
        let numbers = numbers.ok_or_else(failed)?;
        let &[threads, blocks, target, major, minor, keeps, stack, hot] = &numbers[..] else {
            return Err(failed());
        };
        let stated = |number: u32| (number > 0).then_some(number);
        Ok(Self {
            family: (*family).to_owned(),
            objective: (*objective).to_owned(),
            precision: (*precision).to_owned(),
            threads: stated(threads),
            blocks: stated(blocks),
            requires: stated(target).map(|target| (target, (major, minor))),
            keeps_shared_base: keeps != 0,
            local: (stack, hot),
        })
    }

    /// The directives that state its blocks, if it has some.
    fn directives(&self) -> Option<String> {
        let threads = self.threads?;
        let blocks =
            self.blocks.map_or(String::new(), |blocks| format!("\n.minnctapersm {blocks}"));
        Some(format!(".maxntid {threads}, 1, 1{blocks}"))
    }

    /// The least header of its module, if that is its own.
    fn header(&self) -> Option<String> {
        let (target, (major, minor)) = self.requires?;
        Some(format!(".version {major}.{minor}\n.target sm_{target}\n.address_size 64"))
    }
}

/// What the kernels of a PTX text state, by their names.
pub fn facts(text: &str) -> Result<HashMap<String, Facts>, String> {
    let (_, items) = parse(text)?;
    let stated = |item: &Item| {
        let entry = item.symbol.strip_prefix(FACTS)?.to_owned();
        Some(bytes(item).and_then(|bytes| Ok((entry.clone(), Facts::parse(&entry, &bytes)?))))
    };
    items.iter().filter_map(stated).collect()
}

/// The bytes of a variable: `.visible .global .align 4 .b8 name[44] = {1, 2};`, of which those at the
/// end that are zero may be left out.
fn bytes(item: &Item) -> Result<Vec<u8>, String> {
    let line = item.lines.concat();
    let inside = |open, close| {
        let (_, rest) = line.split_once(open)?;
        Some(rest.split_once(close)?.0)
    };
    let failed = || format!("no array of bytes: {line}");
    let length = inside('[', ']').and_then(|length| length.trim().parse::<usize>().ok());
    let values: Option<Vec<u8>> = inside('{', '}')
        .unwrap_or_default()
        .split(',')
        .map(|byte| byte.trim().parse().ok())
        .collect();
    let (length, mut values) = length.zip(values).ok_or_else(failed)?;
    if !line.contains(".b8 ") || values.len() > length {
        return Err(failed());
    }
    values.resize(length, 0);
    Ok(values)
}

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

/// The modules of a PTX text, in its order of entries; `facts` has what each kernel states.
pub fn modules(text: &str, facts: &HashMap<String, Facts>) -> Result<Vec<Module>, String> {
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
        let stated = facts
            .get(item.symbol)
            .ok_or_else(|| format!("no facts are stated of the kernel {}", item.symbol))?;
        let mut text =
            stated.header().map_or_else(|| header.join("\n"), |least| raised(&header, &least));
        for (_, part) in items.iter().enumerate().filter(|(i, _)| needed.contains(i)) {
            text.push_str("\n\n");
            let mut lines = part.lines.clone();
            let bound = part.is_entry.then(|| stated.directives()).flatten();
            let body = lines.iter().position(|line| line.trim() == "{");
            if let (Some(bound), Some(body)) = (&bound, body) {
                lines.insert(body, bound);
            }
            let lines = lines.join("\n");
            let keeps = part.is_entry && stated.keeps_shared_base;
            text.push_str(&if keeps { with_kept_base(&lines) } else { lines });
        }
        text.push('\n');
        modules.push(Module { entry: item.symbol.to_owned(), text, facts: stated.clone() });
    }
    if modules.is_empty() {
        return Err("no .entry in it".to_owned());
    }
    Ok(modules)
}

/// The text with registers and labels numbered in the order in which it names them. Machine code does not
/// depend on their numbers, and kernels that do the same then have the same text.
pub fn renumbered(text: &str) -> String {
    // Of labels that LLVM has named, and of registers by class: numbers by name.
    let mut labels: HashMap<&str, usize> = HashMap::new();
    let mut registers: HashMap<&str, HashMap<&str, usize>> = HashMap::new();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['%', '$']) {
        out += &rest[..at];
        rest = &rest[at..];
        let is_part = |c: &char| c.is_ascii_alphanumeric() || "_$".contains(*c);
        let end = 1 + rest[1..].chars().take_while(is_part).count();
        let (name, behind) = rest.split_at(end);
        let class = name.trim_end_matches(|c: char| c.is_ascii_digit());
        rest = behind;
        if name.starts_with('%') && behind.starts_with('<') {
            // A function's declaration, where numbers begin again.
            registers.insert(name, HashMap::new());
        } else if name.starts_with("$L__BB") {
            let next = labels.len() + 1;
            out += &format!("$L{}", labels.entry(name).or_insert(next));
            continue;
        } else if let Some(numbers) = registers.get_mut(class).filter(|_| class != name) {
            let next = numbers.len() + 1;
            out += &format!("{class}{}", numbers.entry(name).or_insert(next));
            continue;
        }
        out += name;
    }
    out + rest
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

    /// The facts of kernels that state nothing.
    fn nothing(entries: &[&str]) -> HashMap<String, Facts> {
        entries.iter().map(|entry| ((*entry).to_owned(), Facts::default())).collect()
    }

    fn one(entry: &str, facts: Facts) -> HashMap<String, Facts> {
        HashMap::from([(entry.to_owned(), facts)])
    }

    #[test]
    fn a_module_has_what_its_kernel_uses_and_no_more() {
        let modules = modules(TEXT, &nothing(&["first", "second"])).unwrap();
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

    /// As rustc writes `[10, 4, 3, 512, 2, 90, 8, 0, 1, 300, 0]`: what is zero at the end is left out.
    const STATED: &str = "\
.visible .global .align 4 .b8 facts_swarm_step_levy_f32[44] = {10, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 0, \
2, 0, 0, 2, 0, 0, 0, 90, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 44, 1};
.visible .entry swarm_step_levy_f32(
)
{
ret;
}
";

    #[test]
    fn what_a_kernel_states_is_read_and_left_out_of_its_module() {
        let text = format!(".version 7.0\n.target sm_70\n.address_size 64\n{STATED}");
        let facts = facts(&text).unwrap();
        let levy = Facts {
            family: "swarm_step".to_owned(),
            objective: "levy".to_owned(),
            precision: "f32".to_owned(),
            threads: Some(512),
            blocks: Some(2),
            requires: Some((90, (8, 0))),
            keeps_shared_base: true,
            local: (300, 0),
        };
        assert_eq!(facts, one("swarm_step_levy_f32", levy.clone()));
        let module = modules(&text, &facts).unwrap().remove(0);
        assert_eq!(module.facts, levy);
        let line = levy.to_line();
        assert_eq!(line, "swarm_step\tlevy\tf32\t512\t2\t90\t8\t0\t1\t300\t0");
        assert_eq!(Facts::from_line(&line), Ok(levy));
        assert_eq!(
            module.text,
            ".version 8.0\n.target sm_90\n.address_size 64\n\n.visible .entry swarm_step_levy_f32(\n)\n\
             .maxntid 512, 1, 1\n.minnctapersm 2\n{\nret;\n}\n"
        );
    }

    #[test]
    fn facts_that_are_missing_or_wrong_are_refused() {
        let refusal = |text: &str| facts(text).unwrap_err();
        assert!(refusal(&STATED.replace("[44]", "[48]")).contains("has 48 bytes"));
        assert!(refusal(&STATED.replace("{10,", "{11,")).contains("do not make up its name"));
        assert!(refusal(&STATED.replace("{10,", "{1000,")).contains("no array of bytes"));
        assert!(refusal(&STATED.replace(".b8", ".b32")).contains("no array of bytes"));
        let missing = modules(STATED, &nothing(&["swarm_step_levy_f64"])).unwrap_err();
        assert!(missing.contains("no facts are stated of the kernel swarm_step_levy_f32"));
    }

    #[test]
    fn some_kernels_read_where_their_shared_memory_begins_once() {
        let text = ".version 7.0\n.target sm_70\n.address_size 64\n.extern .shared .align 16 .b8 \
                    flockwork_shared[];\n.visible .entry a()\n{\n.reg .b32 %r<9>;\nmov.u32 %r1, \
                    flockwork_shared;\nmov.u32 %r2, flockwork_shared;\nret;\n}\n";
        let module = |keeps_shared_base| {
            let facts = one("a", Facts { keeps_shared_base, ..Facts::default() });
            modules(text, &facts).unwrap().remove(0).text
        };
        assert_eq!(module(false).matches(", flockwork_shared;").count(), 2);
        let kept = module(true);
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
    fn a_kernel_raises_what_its_module_states_and_lowers_nothing() {
        let text =
            |header: &str| format!("{header}\n.address_size 64\n.visible .entry a()\n{{\n}}\n");
        let facts = one("a", Facts { requires: Some((90, (8, 0))), ..Facts::default() });
        for (states, gets) in [
            (".version 7.0\n.target sm_70", ".version 8.0\n.target sm_90\n"),
            (".version 9.0\n.target sm_75", ".version 9.0\n.target sm_90\n"),
            (".version 10.1\n.target sm_100", ".version 10.1\n.target sm_100\n"),
        ] {
            let modules = modules(&text(states), &facts).unwrap();
            assert!(modules[0].text.starts_with(gets), "{states}: {}", modules[0].text);
        }
    }

    #[test]
    fn numbers_are_those_of_the_order_of_names() {
        let text = ".func a()\n{\n.reg .b32 %r<90>;\n.reg .pred %p<9>;\n$L__BB0_7:\nadd.s32 %r81,%r12,%r81;\n\
                    setp.eq.u32 %p3,%r12,%tid.x;\n@%p3 bra $L__BB0_7;\n{ .reg .b32 %t; mov.u32 %t,%r5; }\n\
                    $L__BB0_1:\n}\n.visible .entry b()\n{\n.reg .b32 %r<3>;\nmov.u32 %r2,%clock64;\n$L__BB1_7:\n\
                    mov.u32 %r1,%r2_;\n}\n";
        let wanted = ".func a()\n{\n.reg .b32 %r<90>;\n.reg .pred %p<9>;\n$L1:\nadd.s32 %r1,%r2,%r1;\n\
                      setp.eq.u32 %p1,%r2,%tid.x;\n@%p1 bra $L1;\n{ .reg .b32 %t; mov.u32 %t,%r3; }\n\
                      $L2:\n}\n.visible .entry b()\n{\n.reg .b32 %r<3>;\nmov.u32 %r1,%clock64;\n$L3:\n\
                      mov.u32 %r2,%r2_;\n}\n";
        assert_eq!(renumbered(text), wanted);
        assert_eq!(renumbered(wanted), wanted);
    }

    #[test]
    fn a_broken_text_is_refused() {
        let refusal = |text: &str| modules(text, &nothing(&["a"])).unwrap_err();
        assert!(refusal(".version 7.0\n.visible .entry a()\n{\n").contains("inside"));
        assert!(refusal("}\n").contains("unbalanced"));
        assert!(refusal(".version 7.0\n").contains("no .entry"));
    }
}
