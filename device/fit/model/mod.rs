//! The built-in models, a file each.

macro_rules! declare {
    ($($module:ident: $type:ident,)*) => { $(
        mod $module;
        pub use $module::$type;
    )* };
}
crate::for_each_model!(declare);

pub use linear::less;
