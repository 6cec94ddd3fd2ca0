//! Quantiles of the normal and of Student's t distribution.

use std::f64::consts::PI;

use crate::{Error, Result};

/// The logarithm of the gamma function of a positive number (Lanczos 1964, g = 7).
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let terms = COEFFICIENTS.iter().enumerate().map(|(i, c)| c / (x + i as f64 + 1.0));
    let sum = 0.999_999_999_999_809_9 + terms.sum::<f64>();
    let t = x + 7.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// The regularized incomplete beta function by its continued fraction (DLMF 8.17.22), evaluated by
/// Lentz's method.
fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(1.0 - x, b, a);
    }
    let nonzero = |x: f64| if x.abs() < 1e-300 { 1e-300 } else { x };
    let (mut c, mut d) = (1.0, 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut factor = 1.0;
        for term in [even, odd] {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            factor = c * d;
            fraction *= factor;
        }
        if (factor - 1.0).abs() < 1e-15 {
            break;
        }
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    front.exp() * fraction / a
}

/// Where a function that falls from 1 to 0 on the positive axis equals `level`.
fn falling_to(level: f64, tail: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while tail(high) > level && high < 1e300 {
        (low, high) = (high, 2.0 * high);
    }
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if tail(middle) > level { low = middle } else { high = middle }
    }
}

/// The two-sided quantile of the standard normal distribution.
fn normal(probability: f64) -> f64 {
    // A series of positive terms: DLMF 7.6.2.
    let tail = |z: f64| {
        let x = z / 2.0_f64.sqrt();
        let (mut term, mut sum, mut n) = (x, x, 0.0);
        while term > 1e-17 * sum {
            n += 1.0;
            term *= 2.0 * x * x / (2.0 * n + 1.0);
            sum += term;
        }
        1.0 - 2.0 / PI.sqrt() * (-x * x).exp() * sum
    };
    falling_to(1.0 - probability, tail)
}

/// The two-sided quantile of Student's t distribution. Its square is the quantile of the F
/// distribution with 1 and the same degrees of freedom.
fn student(probability: f64, degrees_of_freedom: f64) -> f64 {
    let n = degrees_of_freedom;
    if n > 1e5 {
        // Abramowitz and Stegun 26.7.5.
        let z = normal(probability);
        let first = (z.powi(3) + z) / 4.0;
        let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
        return z + first / n + second / (n * n);
    }
    falling_to(1.0 - probability, |t| beta(n / (n + t * t), 0.5 * n, 0.5))
}

/// The factor of a standard error in half a confidence interval of this level: a quantile of Student's t
/// distribution. Infinitely many degrees of freedom are allowed; without any it is NaN.
///
/// ```
/// use flockwork::fit::student_t;
///
/// assert!((student_t(0.95, 10.0)? - 2.228).abs() < 1e-3);
/// assert!((student_t(0.95, f64::INFINITY)? - 1.96).abs() < 1e-3);
/// # Ok::<(), flockwork::Error>(())
/// ```
///
/// # Errors
/// If the level is not between 0 and 1.
pub fn student_t(level: f64, degrees_of_freedom: f64) -> Result<f64> {
    check_level(level)?;
    Ok(reach(level, degrees_of_freedom))
}

/// The same of a level that is one.
pub(super) fn reach(level: f64, degrees_of_freedom: f64) -> f64 {
    if degrees_of_freedom == f64::INFINITY {
        normal(level)
    } else if degrees_of_freedom > 0.0 {
        student(level, degrees_of_freedom)
    } else {
        f64::NAN
    }
}

/// Refuses what is no confidence level.
pub(super) fn check_level(level: f64) -> Result<()> {
    if level > 0.0 && level < 1.0 {
        return Ok(());
    }
    Err(Error::Option {
        option: "confidence",
        value: format!("{level:?}"),
        accepted: "a probability between 0 and 1, such as 0.95".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_tables() {
        let close = |found: f64, expected: f64| {
            assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
        };
        close(normal(0.5), 0.6744897501960817);
        close(normal(0.68), 0.9944578832097535);
        close(normal(0.95), 1.959963984540054);
        close(normal(0.999999), 4.891638475671085);
        close(student(0.6827, 1.0), 1.837409429490547);
        close(student(0.95, 1.0), 12.706204736174694);
        close(student(0.99, 1.0), 63.656741162871526);
        close(student(0.6827, 2.0), 1.3213154624456933);
        close(student(0.95, 2.0), 4.302652729749462);
        close(student(0.99, 2.0), 9.924843200918287);
        close(student(0.6827, 3.0), 1.1969125599716923);
        close(student(0.95, 3.0), 3.1824463052837078);
        close(student(0.99, 3.0), 5.840909309733355);
        close(student(0.6827, 10.0), 1.0525864806188512);
        close(student(0.95, 10.0), 2.228138851986274);
        close(student(0.99, 10.0), 3.16927267261695);
        close(student(0.6827, 52.0), 1.0097304213853364);
        close(student(0.95, 52.0), 2.006646805061688);
        close(student(0.99, 52.0), 2.6737336306472197);
        close(student(0.6827, 1000.0), 1.0005219851163694);
        close(student(0.95, 1000.0), 1.9623390808264083);
        close(student(0.99, 1000.0), 2.580754698065951);
        close(student(0.6827, 99999.0), 1.0000267136151406);
        close(student(0.95, 99999.0), 1.9599877077718442);
        close(student(0.99, 99999.0), 2.575878470400052);
        close(student(0.6827, 1000000.0), 1.0000222133449634);
        close(student(0.95, 1000000.0), 1.959966356814107);
        close(student(0.99, 1000000.0), 2.5758342201053344);
    }
}
