//! The attribute of a kernel, for rustc's own PTX back end; on a host it leaves the function as it is.

use proc_macro::{TokenStream, TokenTree};

/// Exports a function as an entry, under its own name.
#[proc_macro_attribute]
pub fn kernel(_: TokenStream, function: TokenStream) -> TokenStream {
    let on_a_host = "#[cfg(not(target_arch = \"nvptx64\"))]".parse().expect("an attribute");
    let mut out = TokenStream::from_iter([on_a_host, function.clone()]);
    let on_a_gpu = "#[cfg(target_arch = \"nvptx64\")] #[unsafe(no_mangle)]";
    out.extend(on_a_gpu.parse::<TokenStream>().expect("two attributes"));
    let mut open = true;
    for token in function {
        if open && matches!(&token, TokenTree::Ident(word) if word.to_string() == "fn") {
            out.extend("extern \"ptx-kernel\"".parse::<TokenStream>().expect("two words"));
            open = false;
        }
        out.extend([token]);
    }
    out
}
