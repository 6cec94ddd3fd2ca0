//! The stacks that lanes run on.

use core::cell::{Cell, RefCell};
use std::{format, thread_local, vec::Vec};

use corosensei::stack::{self, DefaultStack, StackPointer};

use super::fault::Fault;

/// Bytes of a lane's stack. Only the pages that are touched take memory.
const BYTES: usize = 128 * 1024;
/// Stacks kept for the next launch of the same OS thread.
const KEPT: usize = 8192;
/// Bytes of a cache line, and lines of a page.
const LINE: usize = 64;
const PAGE_LINES: usize = 64;

thread_local! {
    /// Stacks that no lane uses.
    static FREE: RefCell<Vec<Stack>> = const { RefCell::new(Vec::new()) };
    /// How many were made.
    static MADE: Cell<usize> = const { Cell::new(0) };
}

/// A stack with a guard page.
///
/// Stacks start at different lines of a page: if all started at its end, the frames of all lanes
/// would share a few sets of the first-level cache, and most switches would miss it.
pub(super) struct Stack {
    memory: DefaultStack,
    skipped: usize,
}

// SAFETY: `memory` has a guard page at its limit. The base lies inside it, at most one page below
// its own base, which leaves far more than the least size; it moves by lines, so it stays aligned.
unsafe impl stack::Stack for Stack {
    #[inline]
    fn base(&self) -> StackPointer {
        let base = self.memory.base().get() - self.skipped;
        // A page below a base with more than a page below it.
        StackPointer::new(base).unwrap_or(StackPointer::MIN)
    }

    #[inline]
    fn limit(&self) -> StackPointer {
        self.memory.limit()
    }

    #[cfg(windows)]
    fn teb_fields(&self) -> stack::StackTebFields {
        self.memory.teb_fields()
    }

    #[cfg(windows)]
    fn update_teb_fields(&mut self, stack_limit: usize, guaranteed_stack_bytes: usize) {
        self.memory.update_teb_fields(stack_limit, guaranteed_stack_bytes);
    }
}

/// A stack for a lane.
pub(super) fn take() -> Result<Stack, Fault> {
    if let Some(stack) = FREE.with_borrow_mut(Vec::pop) {
        return Ok(stack);
    }
    let made = MADE.replace(MADE.get() + 1);
    // 37 is odd, so neighbours lie far apart and each line has its turn.
    let skipped = made * 37 % PAGE_LINES * LINE;
    match DefaultStack::new(BYTES) {
        Ok(memory) => Ok(Stack { memory, skipped }),
        Err(error) => Err(Fault::Launch {
            reason: format!(
                "no memory for the stack of another lane ({error}); fewer blocks or threads at \
                 once are needed"
            ),
        }),
    }
}

/// Keeps the stack of a lane that is over.
pub(super) fn keep(stack: Stack) {
    FREE.with_borrow_mut(|free| {
        if free.len() < KEPT {
            free.push(stack);
        }
    });
}
