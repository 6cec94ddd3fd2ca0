//! A formula's text as expressions.

use super::{
    lexer::{Token, tokens},
    mistake::{Mistake, Span},
    syntax::{COMPARES, Function, Id, Join, Node, Operator, Syntax},
};

/// The longest text.
const MOST_BYTES: usize = 1 << 16;
/// How deep brackets, signs and powers may stand in each other. Each takes some frames of the stack.
const MOST_LEVELS: u32 = 100;

/// Words that are no names.
const WORDS: [&str; 5] = ["in", "and", "or", "not", "if"];

/// What a text says, and its names in the order in which they appear: not those of functions, nor
/// those that run over a range.
pub(super) fn parse(text: &str) -> Result<(Syntax, Vec<String>), Mistake> {
    if text.trim().is_empty() {
        return Err(Mistake::new(Span::new(0, 0), "the formula is empty"));
    }
    if text.len() > MOST_BYTES {
        let why = format!("a formula has at most {MOST_BYTES} bytes, not {}", text.len());
        return Err(Mistake::new(Span::new(0, 0), why));
    }
    let mut parser = Parser {
        tokens: tokens(text)?,
        next: 0,
        level: 0,
        syntax: Syntax::default(),
        indices: Vec::new(),
        names: Vec::new(),
    };
    parser.expression()?;
    if *parser.token() != Token::End {
        let begins =
            matches!(parser.token(), Token::Number(..) | Token::Name(_) | Token::Quoted(_))
                || parser.is("(");
        let hint = if begins { "; a product needs *" } else { "" };
        return Err(parser.unexpected(&format!("an operator or the end{hint}")));
    }
    Ok((parser.syntax, parser.names))
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    next: usize,
    level: u32,
    syntax: Syntax,
    /// The names that run over ranges here.
    indices: Vec<String>,
    names: Vec<String>,
}

impl Parser {
    fn token(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn span(&self) -> Span {
        self.tokens[self.next].1
    }

    /// Where the last token was.
    fn before(&self) -> Span {
        self.tokens[self.next.saturating_sub(1)].1
    }

    fn take(&mut self) -> Token {
        let token = self.token().clone();
        // The end stays.
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.token(), Token::Sign(own) if *own == sign)
    }

    fn accept(&mut self, sign: &str) -> bool {
        let is = self.is(sign);
        if is {
            self.take();
        }
        is
    }

    fn expect(&mut self, sign: &str, before: &str) -> Result<(), Mistake> {
        if self.accept(sign) {
            return Ok(());
        }
        Err(self.unexpected(&format!("{sign:?}{before}")))
    }

    fn unexpected(&self, expected: &str) -> Mistake {
        let found = match self.token() {
            Token::End => "the end".to_owned(),
            Token::Number(number, _) => format!("{number}"),
            Token::Name(name) | Token::Quoted(name) => format!("{name:?}"),
            Token::Sign(sign) => format!("{sign:?}"),
        };
        Mistake::new(self.span(), format!("expected {expected}, found {found}"))
    }

    /// One level deeper.
    fn deeper<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, Mistake>,
    ) -> Result<T, Mistake> {
        if self.level == MOST_LEVELS {
            let why =
                format!("over {MOST_LEVELS} brackets, signs and powers stand in each other here");
            return Err(Mistake::new(self.span(), why));
        }
        self.level += 1;
        let result = inner(self);
        self.level -= 1;
        result
    }

    fn add(&mut self, node: Node, span: Span) -> Id {
        self.syntax.add(node, span)
    }

    fn expression(&mut self) -> Result<Id, Mistake> {
        self.deeper(|parser| parser.operators(1))
    }

    /// Operators that bind at least so strongly.
    fn operators(&mut self, least: u32) -> Result<Id, Mistake> {
        let mut left = self.prefix(least)?;
        // In a < b < c the middle belongs to both.
        let mut compared: Option<Id> = None;
        loop {
            let found = match self.token() {
                Token::Sign(sign) => Operator::of(sign),
                Token::Name(word) if WORDS.contains(&&**word) => Operator::of(word),
                _ => None,
            };
            let Some((operator, binds)) = found.filter(|(_, binds)| *binds >= least) else {
                return Ok(left);
            };
            self.take();
            let right = self.operators(binds + 1)?;
            let span = self.syntax.span(left).to(self.syntax.span(right));
            if binds == COMPARES {
                let begin = compared.unwrap_or(left);
                let own = self.syntax.span(begin).to(self.syntax.span(right));
                let comparison = self.add(Node::Binary(operator, begin, right), own);
                left = match compared {
                    Some(_) => self.add(Node::Binary(Operator::And, left, comparison), span),
                    None => comparison,
                };
                compared = Some(right);
            } else {
                left = self.add(Node::Binary(operator, left, right), span);
            }
        }
    }

    fn prefix(&mut self, least: u32) -> Result<Id, Mistake> {
        let begin = self.span();
        let not = match self.token() {
            Token::Sign("!") => true,
            Token::Name(word) => word == "not",
            _ => false,
        };
        if not {
            if least > COMPARES {
                return Err(self.unexpected("a number; put brackets around \"not\""));
            }
            self.take();
            let inner = self.deeper(|parser| parser.operators(COMPARES))?;
            let span = begin.to(self.syntax.span(inner));
            return Ok(self.add(Node::Not(inner), span));
        }
        self.signed()
    }

    /// A power with signs before it: -x^2 is -(x^2).
    fn signed(&mut self) -> Result<Id, Mistake> {
        let begin = self.span();
        if self.accept("-") {
            let inner = self.deeper(Self::signed)?;
            let span = begin.to(self.syntax.span(inner));
            return Ok(self.add(Node::Negative(inner), span));
        }
        if self.accept("+") {
            return self.deeper(Self::signed);
        }
        let base = self.operand()?;
        if self.accept("^") || self.accept("**") {
            let exponent = self.deeper(Self::signed)?;
            let span = self.syntax.span(base).to(self.syntax.span(exponent));
            return Ok(self.add(Node::Binary(Operator::Power, base, exponent), span));
        }
        Ok(base)
    }

    fn operand(&mut self) -> Result<Id, Mistake> {
        let begin = self.span();
        let missing = "a number, a name or \"(\"";
        match self.token().clone() {
            Token::Number(number, whole) => {
                self.take();
                Ok(self.add(Node::Number(number, whole), begin))
            }
            Token::Sign("(") => {
                self.take();
                let inner = self.expression()?;
                self.expect(")", "")?;
                Ok(inner)
            }
            Token::Name(word) if word == "if" => {
                self.take();
                self.choice(begin)
            }
            Token::Name(word) if WORDS.contains(&&*word) => Err(self.unexpected(missing)),
            Token::Name(name) => {
                self.take();
                if self.accept("(") {
                    return self.call(&name, begin);
                }
                if name == "x" && self.accept("[") {
                    let index = self.expression()?;
                    self.expect("]", "")?;
                    let span = begin.to(self.before());
                    return Ok(self.add(Node::Element(index), span));
                }
                if self.is("[") {
                    return Err(
                        self.unexpected(&format!("an operator: only x has elements, not {name}"))
                    );
                }
                Ok(self.named(name, begin))
            }
            Token::Quoted(name) => {
                self.take();
                Ok(self.named(name, begin))
            }
            Token::Sign(_) | Token::End => Err(self.unexpected(missing)),
        }
    }

    fn named(&mut self, name: String, span: Span) -> Id {
        if !self.indices.contains(&name) && !self.names.contains(&name) {
            self.names.push(name.clone());
        }
        self.add(Node::Name(name), span)
    }

    /// What follows `if`.
    fn choice(&mut self, begin: Span) -> Result<Id, Mistake> {
        let form = ", as in if(a < b, a, b)";
        self.expect("(", form)?;
        let condition = self.expression()?;
        self.expect(",", form)?;
        let yes = self.expression()?;
        self.expect(",", form)?;
        let no = self.expression()?;
        self.expect(")", form)?;
        let span = begin.to(self.before());
        Ok(self.add(Node::Choice([condition, yes, no]), span))
    }

    /// What follows a name and an opening bracket.
    fn call(&mut self, name: &str, begin: Span) -> Result<Id, Mistake> {
        let join = match name {
            "sum" => Some(Join::Sum),
            "product" => Some(Join::Product),
            "min" => Some(Join::Least),
            "max" => Some(Join::Greatest),
            _ => None,
        };
        let second = self.tokens.get(self.next + 1).map(|(token, _)| token);
        let ranged = matches!((self.token(), second), (Token::Name(_), Some(Token::Name(word))) if word == "in");
        if let Some(join) = join.filter(|_| ranged) {
            return self.deeper(|parser| parser.over(join, begin));
        }
        let Some((function, least, most)) = Function::named(name) else {
            if join.is_some() {
                return Err(self.unexpected(&format!("a range, as in {name}(i in 0..n: x[i])")));
            }
            return Err(Mistake::new(begin, unknown_function(name)));
        };
        let mut arguments = Vec::new();
        if !self.is(")") {
            arguments.push(self.expression()?);
            while self.accept(",") {
                arguments.push(self.expression()?);
            }
        }
        self.expect(")", "")?;
        let span = begin.to(self.before());
        if !(least..=most).contains(&arguments.len()) {
            let takes = match (least, most) {
                (1, 1) => "one number".to_owned(),
                (_, usize::MAX) => "one number or more".to_owned(),
                _ => format!("{least} numbers"),
            };
            return Err(Mistake::new(
                span,
                format!("{name} takes {takes}, not {}", arguments.len()),
            ));
        }
        Ok(self.add(Node::Call(function, arguments), span))
    }

    /// `i in 0..n: body)`, or `i in 0..n, j in 0..i: body)`.
    fn over(&mut self, join: Join, begin: Span) -> Result<Id, Mistake> {
        let Token::Name(index) = self.token().clone() else {
            return Err(self.unexpected("the name of an index"));
        };
        if WORDS.contains(&&*index) || index == "x" {
            return Err(self.unexpected("another name for an index, such as i"));
        }
        self.take();
        if !matches!(self.token(), Token::Name(word) if word == "in") {
            return Err(self.unexpected("\"in\", as in i in 0..n"));
        }
        self.take();
        let from = self.expression()?;
        let includes_last = self.is("..=");
        if !includes_last && !self.is("..") {
            return Err(self.unexpected("\"..\" and the range's end, as in 0..n"));
        }
        self.take();
        let to = self.expression()?;
        self.indices.push(index.clone());
        let body = if self.accept(",") {
            self.deeper(|parser| parser.over(join, begin))
        } else {
            self.expect(":", " and what is to be put together, as in sum(i in 0..n: x[i]^2)")
                .and_then(|()| self.expression())
                .and_then(|body| self.expect(")", "").map(|()| body))
        };
        self.indices.pop();
        let body = body?;
        let span = begin.to(self.before());
        Ok(self.add(Node::Over { join, index, from, to, includes_last, body }, span))
    }
}

fn unknown_function(name: &str) -> String {
    let mut known: Vec<&str> = Function::of_one().map(|(word, _)| word).collect();
    known.extend(Function::OTHERS.iter().map(|(word, ..)| *word));
    known.extend(["sum", "product", "if"]);
    let small = name.to_lowercase();
    let closest = known.iter().map(|word| (strsim::levenshtein(&small, word), *word)).min();
    let hint = match closest {
        // Of a short name hardly anything may be wrong.
        Some((distance, word)) if 3 * distance <= name.len().min(6) => {
            format!(" (do you mean {word}?)")
        }
        _ => String::new(),
    };
    format!("there is no function {name}{hint}; a product needs *. There are {}", known.join(", "))
}
