//! Enums whose variants have names, listed once for the library, files and the command line.

/// Defines an enum whose variants have names, as used in options and files.
macro_rules! named {
    (
        $(#[$doc:meta])*
        pub enum $type:ident($what:literal) {
            $( $(#[$variant_doc:meta])* $variant:ident = $name:literal, )*
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $type {
            $( $(#[$variant_doc])* #[serde(rename = $name)] $variant, )*
        }

        impl $type {
            /// All variants.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )* ];

            /// The name, as used in options and files.
            ///
            /// ```
            /// # use flockwork::{backend::*, command::Protocol, fit::Loss, io::*, paths::Weights, swarm::*};
            #[doc = concat!(" for &one in ", stringify!($type), "::ALL {")]
            #[doc = concat!("     assert_eq!(one.name().parse::<", stringify!($type), ">()?, one);")]
            /// }
            /// # Ok::<(), flockwork::Error>(())
            /// ```
            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )* }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = crate::Error;

            fn from_str(text: &str) -> crate::Result<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == text).ok_or_else(|| {
                    let names: Vec<_> = Self::ALL.iter().map(|one| one.name()).collect();
                    crate::Error::Option {
                        option: $what,
                        value: format!("{text:?}"),
                        accepted: format!("one of {}", names.join(", ")),
                    }
                })
            }
        }
    };
}
pub(crate) use named;
