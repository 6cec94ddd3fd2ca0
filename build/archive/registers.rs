//! Numbered names of a PTX text, written as distances.
//!
//! A number is used soon after it is new, and what lies between is the same in many kernels. So a name
//! whose number is the next of its class becomes the class and `+`, and one that came before the class,
//! `-` and how many have come since: `add.s32 %r301,%r300,%r271` becomes `add.s32 %r+,%r-1,%r-30`, which
//! the next kernel has too. A class is the letters before the number, of registers those that a
//! declaration (`%r<302>`) names, which begins again, or `$L` of labels. What fits nothing of this stays
//! as it is.

/// The text with distances.
pub fn relative(text: &str) -> String {
    rewritten(text, |newest, rest, out| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let number: u32 = rest[..digits].parse().ok()?;
        let is_name = number > 0 && !rest.starts_with('0');
        let is_whole =
            !rest[digits..].starts_with(|next: char| next.is_alphanumeric() || "_$".contains(next));
        if !is_name || !is_whole {
            return None;
        }
        if number == *newest + 1 {
            *newest = number;
            out.push('+');
        } else {
            *out += &format!("-{}", newest.checked_sub(number)?);
        }
        Some(digits)
    })
}

/// The text that [`relative`] was made from.
pub fn absolute(text: &str) -> String {
    rewritten(text, |newest, rest, out| {
        if rest.starts_with('+') {
            *newest = newest.checked_add(1)?;
            *out += &newest.to_string();
            return Some(1);
        }
        let rest = rest.strip_prefix('-')?;
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let distance: u32 = rest[..digits].parse().ok()?;
        *out += &newest.checked_sub(distance)?.to_string();
        Some(1 + digits)
    })
}

/// The text with what stands behind each class replaced. `replace` gets the newest number of the class and
/// what follows, appends what replaces its beginning, and returns how long that is; `None` leaves it.
fn rewritten(text: &str, replace: impl Fn(&mut u32, &str, &mut String) -> Option<usize>) -> String {
    let mut newest: Vec<(&str, u32)> = vec![("$L", 0)];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['%', '$']) {
        let letters = rest[at + 1..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let end = at + 1 + letters;
        let class = &rest[at..end];
        out += &rest[..end];
        rest = &rest[end..];
        let known = newest.iter().position(|(name, _)| *name == class);
        if class.starts_with('%') && rest.starts_with('<') {
            match known {
                Some(nth) => newest[nth].1 = 0,
                None => newest.push((class, 0)),
            }
        } else if let Some(nth) = known
            && let Some(replaced) = replace(&mut newest[nth].1, rest, &mut out)
        {
            rest = &rest[replaced..];
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_to_the_newest_name() {
        let text = ".reg .b32 %r<9>;\n.reg .b64 %rd<5>;\nmov.u32 %r1,%tid.x;\nadd.s32 %r2,%r1,%r1;\n\
                    ld.u32 %r3,[%rd1+8];\n@%p1 bra $L1;\nbra $L1;\n$L2:\nst.u32 [%rd1+-4],%r1;\n";
        let told = ".reg .b32 %r<9>;\n.reg .b64 %rd<5>;\nmov.u32 %r+,%tid.x;\nadd.s32 %r+,%r-1,%r-1;\n\
                    ld.u32 %r+,[%rd++8];\n@%p1 bra $L+;\nbra $L-0;\n$L+:\nst.u32 [%rd-0+-4],%r-2;\n";
        assert_eq!(relative(text), told);
        assert_eq!(absolute(told), text);
    }

    #[test]
    fn what_is_no_number_in_turn_stays() {
        let text = ".reg .b32 %r<9>;\nmov.u32 %r7,%r;\nmov.u32 %r01,%r1_x,%rd1,%r1$;\n.reg .b32 %r<2>;\n\
                    mov.u32 %r1,%r0;\n$L__BB0_1: $L_brx_1: %r99999999999 %";
        let told = text.replace("mov.u32 %r1,", "mov.u32 %r+,");
        assert_eq!(relative(text), told);
        assert_eq!(absolute(&told), text);
    }

    #[test]
    fn nonsense_is_left_as_it_is() {
        for text in
            ["", "%", "$L-1", "$L-", "$L+", "%r<%r-4294967296 %r+ %r-2", "%r<\u{e9}%r-\u{e9}"]
        {
            let _ = absolute(text);
        }
        assert_eq!(absolute("$L-1 $L+ $L-0 $L-x"), "$L-1 $L1 $L1 $L-x");
    }
}
