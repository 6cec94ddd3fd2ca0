//! Each rule compared with the literature's formulas, one particle after the other in f64, with the
//! same random numbers.

use std::f64::consts::TAU;

use flockwork::{
    math::Scalar,
    random::{Draw, Key, Purpose, philox},
    swarm::{
        Coefficients, Edge, Neighbourhood, Options, Precision, Problem, Randomness, Rule, Schedule,
        Variable,
    },
};

use super::{swarm, wavy};

/// A swarm as in a textbook.
struct Oracle {
    options: Options,
    key: Key,
    variables: Vec<Variable>,
    lower: Vec<f64>,
    upper: Vec<f64>,
    x: Vec<Vec<f64>>,
    v: Vec<Vec<f64>>,
    own: Vec<Vec<f64>>,
    own_value: Vec<f64>,
    exemplars: Vec<Vec<usize>>,
    /// Iterations since a particle improved or chose exemplars.
    gap: Vec<u32>,
    /// The last iteration that did not improve the global best.
    failed: u32,
    redrawn: Vec<u32>,
}

impl Oracle {
    fn new(options: &Options, variables: &[Variable], (lower, upper): (f64, f64)) -> Self {
        let beyond = |v: &Variable| if *v == Variable::Integer { 0.5 } else { 0.0 };
        let (n, dims) = (options.particles as usize, variables.len());
        let mut new = Self {
            options: options.clone(),
            key: philox::key(options.seed),
            variables: variables.to_vec(),
            lower: variables.iter().map(|v| lower - beyond(v)).collect(),
            upper: variables.iter().map(|v| upper + beyond(v)).collect(),
            x: vec![vec![0.0; dims]; n],
            v: vec![vec![0.0; dims]; n],
            own: vec![vec![0.0; dims]; n],
            own_value: vec![f64::INFINITY; n],
            exemplars: vec![vec![0; dims]; n],
            gap: vec![0; n],
            failed: 0,
            redrawn: Vec::new(),
        };
        for i in 0..n {
            for d in 0..dims {
                let (r1, r2) = new.pair(Purpose::Start, 0, i, d);
                let range = new.upper[d] - new.lower[d];
                new.x[i][d] = new.lower[d] + r1 * range;
                let other = new.lower[d] + r2 * range;
                new.v[i][d] = new.slow(0.5 * (other - new.x[i][d]), d);
            }
            new.own[i] = new.x[i].clone();
            new.own_value[i] = new.value(i);
        }
        new
    }

    fn words(
        &self,
        purpose: Purpose,
        iteration: u32,
        i: usize,
        group: usize,
        nth: u32,
    ) -> [u32; 4] {
        let (particle, group) = (i as u32, group as u32);
        Draw { key: self.key, iteration, particle, group, purpose, nth }.block()
    }

    fn pair(&self, purpose: Purpose, iteration: u32, i: usize, d: usize) -> (f64, f64) {
        f64::uniform_pair(self.words(purpose, iteration, i, d, 0), 0)
    }

    fn slow(&self, v: f64, d: usize) -> f64 {
        let most = self.options.max_velocity * (self.upper[d] - self.lower[d]);
        v.clamp(-most, most)
    }

    fn value(&self, i: usize) -> f64 {
        let mut seen = self.x[i].clone();
        for (d, x) in seen.iter_mut().enumerate() {
            if self.options.edge == Edge::Invisible && !(self.lower[d]..=self.upper[d]).contains(x)
            {
                return f64::INFINITY;
            }
            if self.variables[d] == Variable::Integer {
                *x = x.round_ties_even().clamp(self.lower[d] + 0.5, self.upper[d] - 0.5);
            }
        }
        wavy(&seen)
    }

    /// The best of these particles; of equals the first.
    fn best_of(&self, particles: impl IntoIterator<Item = usize>) -> usize {
        let mut particles: Vec<usize> = particles.into_iter().collect();
        particles.sort_unstable();
        let better = |a: usize, b: usize| if self.own_value[b] < self.own_value[a] { b } else { a };
        particles.into_iter().reduce(better).unwrap()
    }

    fn informants(&self, i: usize) -> Vec<usize> {
        let n = self.x.len();
        match self.options.neighbourhood.unwrap() {
            Neighbourhood::Global => (0..n).collect(),
            Neighbourhood::Ring(k) => {
                (0..=2 * k as usize).map(|step| (i + n + step - k as usize) % n).collect()
            }
            Neighbourhood::VonNeumann => {
                let columns = (n as f64).sqrt() as usize;
                let line = |same: &dyn Fn(usize) -> bool| -> [usize; 2] {
                    let line: Vec<usize> = (0..n).filter(|&j| same(j)).collect();
                    let at = line.iter().position(|&j| j == i).unwrap();
                    let length = line.len();
                    [line[(at + length - 1) % length], line[(at + 1) % length]]
                };
                let [left, right] = line(&|j| j / columns == i / columns);
                let [up, down] = line(&|j| j % columns == i % columns);
                vec![i, left, right, up, down]
            }
            Neighbourhood::Random(k) => {
                let drawn = (0..k as usize).map(|nth| {
                    let words = self.words(Purpose::Informants, self.failed, i, nth / 4, 0);
                    ((u64::from(words[nth % 4]) * n as u64) >> 32) as usize
                });
                std::iter::once(i).chain(drawn).collect()
            }
        }
    }

    /// The difference from `from` to `to`, around the seam if that is shorter.
    fn way(&self, from: f64, to: f64, d: usize) -> f64 {
        let period = self.upper[d] - self.lower[d];
        let mut way = to - from;
        if self.variables[d] == Variable::Periodic {
            while way > 0.5 * period {
                way -= period;
            }
            while way < -0.5 * period {
                way += period;
            }
        }
        way
    }

    fn normal(&self, iteration: u32, i: usize, d: usize) -> f64 {
        let (r1, r2) = self.pair(Purpose::Velocity, iteration, i, d);
        (-2.0 * (1.0 - r1).ln()).sqrt() * (TAU * r2).cos()
    }

    fn coefficients(&self, iteration: u32) -> Coefficients {
        let given = self.options.coefficients.unwrap();
        let share = match self.options.schedule {
            Schedule::Constant => 0.0,
            Schedule::Linear => f64::from(iteration) / f64::from(self.options.iterations),
            Schedule::Random => self.pair(Purpose::Inertia, iteration, 0, 0).0,
        };
        let inertia = given.inertia + share * (given.last_inertia - given.inertia);
        Coefficients { inertia, ..given }
    }

    /// Liang, Qin, Suganthan and Baskar 2006, section III.
    fn choose_exemplars(&mut self, iteration: u32, i: usize) {
        let (n, dims) = (self.x.len(), self.lower.len());
        let rank = 10.0 * i as f64 / (n - 1) as f64;
        let probability = 0.05 + 0.45 * (rank.exp() - 1.0) / (10_f64.exp() - 1.0);
        let other = |word: u32| {
            let drawn = ((u64::from(word) * (n as u64 - 1)) >> 32) as usize;
            if drawn < i { drawn } else { drawn + 1 }
        };
        self.exemplars[i] = vec![i; dims];
        let mut own_alone = true;
        for d in 0..dims {
            let [a, b, one, two] = self.words(Purpose::Exemplars, iteration, i, d, 0);
            if f64::uniform_pair([a, b, 0, 0], 0).0 < probability {
                let (one, two) = (other(one), other(two));
                let second = self.own_value[two] < self.own_value[one];
                self.exemplars[i][d] = if second { two } else { one };
                own_alone = false;
            }
        }
        if own_alone {
            let words = self.words(Purpose::Exemplars, iteration, i, 0, 1);
            let d = ((u64::from(words[0]) * dims as u64) >> 32) as usize;
            self.exemplars[i][d] = other(words[1]);
        }
    }

    /// The next velocity of a particle, before any limit.
    fn velocity(&self, iteration: u32, i: usize) -> Vec<f64> {
        let Coefficients { inertia: w, cognitive: c1, social: c2, .. } =
            self.coefficients(iteration);
        let (x, v) = (&self.x[i], &self.v[i]);
        let informants = self.informants(i);
        let global_best = self.best_of(informants.iter().copied());
        let dims = 0..x.len();
        let group =
            |d| if self.options.randomness == Some(Randomness::PerParticle) { 0 } else { d };
        match self.options.rule {
            Rule::Inertia => dims
                .map(|d| {
                    let (r1, r2) = self.pair(Purpose::Velocity, iteration, i, group(d));
                    let to_own = self.way(x[d], self.own[i][d], d);
                    let to_global_best = self.way(x[d], self.own[global_best][d], d);
                    w * v[d] + c1 * r1 * to_own + c2 * r2 * to_global_best
                })
                .collect(),
            Rule::FullyInformed => dims
                .map(|d| {
                    let pull = |(nth, &k): (usize, &usize)| {
                        let nth = nth as u32;
                        let words = self.words(Purpose::Weights, iteration, i, group(d), nth / 2);
                        let (r1, r2) = f64::uniform_pair(words, 0);
                        let r = if nth.is_multiple_of(2) { r1 } else { r2 };
                        r * (c1 + c2) / informants.len() as f64 * self.way(x[d], self.own[k][d], d)
                    };
                    w * v[d] + informants.iter().enumerate().map(pull).sum::<f64>()
                })
                .collect(),
            Rule::Standard2011 => {
                // The centre of gravity of x, x + c (p - x) and x + c (l - x), without the last if
                // l is p.
                let to_centre: Vec<f64> = dims
                    .clone()
                    .map(|d| {
                        let own = c1 * self.way(x[d], self.own[i][d], d);
                        let all = c2 * self.way(x[d], self.own[global_best][d], d);
                        if global_best == i { own / 2.0 } else { (own + all) / 3.0 }
                    })
                    .collect();
                let length = |a: &[f64]| a.iter().map(|a| a * a).sum::<f64>().sqrt();
                let direction: Vec<f64> =
                    dims.clone().map(|d| self.normal(iteration, i, d)).collect();
                let radius = self.pair(Purpose::Radius, iteration, i, 0).0 * length(&to_centre);
                let unit = length(&direction);
                dims.map(|d| w * v[d] + to_centre[d] + radius * direction[d] / unit).collect()
            }
            Rule::BareBones => dims
                .map(|d| {
                    let apart = self.way(self.own[i][d], self.own[global_best][d], d);
                    let middle = self.own[i][d] + apart / 2.0;
                    middle + apart.abs() * self.normal(iteration, i, d) - x[d]
                })
                .collect(),
            Rule::Comprehensive => dims
                .map(|d| {
                    let (r, _) = self.pair(Purpose::Velocity, iteration, i, group(d));
                    let exemplar = self.exemplars[i][d];
                    w * v[d] + c1 * r * self.way(x[d], self.own[exemplar][d], d)
                })
                .collect(),
        }
    }

    fn place(&mut self, iteration: u32, i: usize, d: usize, v: f64) {
        let (lower, upper) = (self.lower[d], self.upper[d]);
        let range = upper - lower;
        let v = self.slow(v, d);
        let mut x = self.x[i][d] + v;
        let inside = lower <= x && x <= upper;
        let random = self.pair(Purpose::Edge, iteration, i, d).0;
        let periodic = self.variables[d] == Variable::Periodic;
        let edge = if periodic { Edge::Wrap } else { self.options.edge };
        let mut after = v;
        if !inside {
            match edge {
                Edge::Clamp => x = x.clamp(lower, upper),
                Edge::Absorb => (x, after) = (x.clamp(lower, upper), 0.0),
                Edge::Bounce => (x, after) = (x.clamp(lower, upper), -0.5 * v),
                Edge::Resample => (x, after) = (lower + random * range, 0.0),
                Edge::Wrap => {
                    while x > upper {
                        x -= range;
                    }
                    while x < lower {
                        x += range;
                    }
                }
                Edge::Reflect | Edge::Damp => {
                    while !(lower <= x && x <= upper) {
                        x = if x > upper { upper - (x - upper) } else { lower + (lower - x) };
                        after = -after;
                    }
                    if edge == Edge::Damp {
                        after *= random;
                    }
                }
                Edge::Invisible | Edge::None => {}
            }
        }
        (self.x[i][d], self.v[i][d]) = (x, after);
    }

    fn advance(&mut self, iteration: u32) {
        let n = self.x.len();
        self.redrawn.push(self.failed);
        if self.options.rule == Rule::Comprehensive {
            for i in 0..n {
                if iteration == 1 || self.gap[i] >= self.options.patience {
                    self.choose_exemplars(iteration, i);
                    self.gap[i] = 0;
                }
            }
        }
        let velocities: Vec<_> = (0..n).map(|i| self.velocity(iteration, i)).collect();
        let before = self.own_value[self.best_of(0..n)];
        for (i, velocity) in velocities.into_iter().enumerate() {
            for (d, v) in velocity.into_iter().enumerate() {
                self.place(iteration, i, d, v);
            }
            let value = self.value(i);
            if value < self.own_value[i] {
                (self.own[i], self.own_value[i]) = (self.x[i].clone(), value);
                self.gap[i] = 0;
            } else {
                self.gap[i] += 1;
            }
        }
        if self.own_value[self.best_of(0..n)] >= before {
            self.failed = iteration;
        }
    }
}

/// Runs both and compares after every iteration. Returns how often the oracle drew informants.
fn agree(options: &Options, variables: &[Variable]) -> usize {
    const ITERATIONS: u32 = 12;
    let options = Options {
        precision: Some(Precision::F64),
        iterations: ITERATIONS,
        seed: 99,
        ..options.clone()
    };
    let (lower, upper) = (-4.0, 5.0);
    let dims = variables.len();
    let problem = Problem::from_fn(vec![lower; dims], vec![upper; dims], wavy)
        .unwrap()
        .with_variables(variables.to_vec())
        .unwrap();
    let mut oracle = Oracle::new(&options, variables, (lower, upper));
    let mut swarm = swarm::<f64>(&problem, &options);
    swarm.start(None).unwrap();
    for iteration in 0..=ITERATIONS {
        if iteration > 0 {
            oracle.advance(iteration);
            swarm.advance(1).unwrap();
        }
        let found = swarm.snapshot().unwrap();
        for (what, found, expected) in [
            ("position", &found.positions, &oracle.x),
            ("velocity", &found.velocities, &oracle.v),
            ("personal best", &found.personal_bests, &oracle.own),
        ] {
            for (at, (a, b)) in found.iter().zip(expected.iter().flatten()).enumerate() {
                assert!(
                    (a - b).abs() < 1e-11,
                    "{} {} {} {}: {what} {at} after {iteration} is {a}, by the formula {b}",
                    options.rule,
                    options.neighbourhood.unwrap(),
                    options.edge,
                    options.schedule
                );
            }
        }
        for (a, b) in found.best_fitness.iter().zip(&oracle.own_value) {
            assert!(a == b || (a - b).abs() < 1e-11, "{a} {b}");
        }
        let best = oracle.best_of(0..oracle.x.len());
        assert_eq!(found.bests[0].particle as usize, best);
        assert_eq!(found.failed, [oracle.failed]);
        if options.rule == Rule::Comprehensive && iteration > 0 {
            let exemplars = oracle.exemplars.iter().flatten().map(|&e| e as u32);
            assert_eq!(found.exemplars, exemplars.collect::<Vec<_>>());
            assert_eq!(found.stale, oracle.gap);
        }
    }
    oracle.redrawn.dedup();
    oracle.redrawn.len()
}

const CONTINUOUS: [Variable; 4] = [Variable::Continuous; 4];

fn neighbourhoods(rule: Rule) -> Vec<Neighbourhood> {
    let all = [
        Neighbourhood::Global,
        Neighbourhood::Ring(1),
        Neighbourhood::Ring(3),
        Neighbourhood::VonNeumann,
        Neighbourhood::Random(3),
        Neighbourhood::Random(6),
    ];
    let goes = |neighbourhood: &Neighbourhood| {
        let neighbourhood = *neighbourhood;
        let options = Options {
            particles: 11,
            neighbourhood: Some(neighbourhood),
            ..Options::for_rule(rule)
        };
        options.check().is_ok()
    };
    all.into_iter().filter(goes).collect()
}

#[test]
fn every_rule_in_every_neighbourhood_moves_by_its_formula() {
    for &rule in Rule::ALL {
        for neighbourhood in neighbourhoods(rule).into_iter().map(Some) {
            for particles in [11, 16] {
                let options =
                    Options { particles, neighbourhood, patience: 2, ..Options::for_rule(rule) };
                agree(&options, &CONTINUOUS);
            }
        }
    }
}

#[test]
fn schedules_and_randomness_are_as_documented() {
    for &rule in Rule::ALL {
        for &schedule in Schedule::ALL {
            for randomness in Randomness::ALL.iter().copied().map(Some) {
                let mut options = Options::for_rule(rule);
                let coefficients = options.coefficients.as_mut().unwrap();
                (coefficients.inertia, coefficients.last_inertia) = (0.9, 0.2);
                let options = Options { particles: 9, schedule, randomness, ..options };
                if options.check().is_ok() {
                    agree(&options, &CONTINUOUS);
                }
            }
        }
    }
}

#[test]
fn every_edge_and_kind_of_variable_is_as_documented() {
    use Variable::{Continuous, Integer, Periodic};
    for &rule in Rule::ALL {
        for &edge in Edge::ALL {
            let options =
                Options { particles: 10, edge, max_velocity: 0.7, ..Options::for_rule(rule) };
            agree(&options, &CONTINUOUS);
            agree(&options, &[Periodic, Integer, Continuous, Periodic]);
        }
    }
}

#[test]
fn informants_are_drawn_anew_only_after_an_iteration_without_improvement() {
    let options = Options { particles: 11, ..Options::for_rule(Rule::Standard2011) };
    let draws = agree(&options, &CONTINUOUS);
    // Some of the twelve iterations improved the best, and some did not.
    assert!((2..12).contains(&draws), "{draws}");
}

#[test]
fn exemplars_stay_while_a_particle_improves() {
    let problem = super::wavy_problem(3);
    let options = Options { particles: 30, patience: 3, ..Options::for_rule(Rule::Comprehensive) };
    let mut swarm = swarm::<f32>(&problem, &options);
    swarm.start(None).unwrap();
    swarm.advance(1).unwrap();
    let mut before = swarm.snapshot().unwrap();
    let mut changes = 0;
    for _ in 0..40 {
        swarm.advance(1).unwrap();
        let after = swarm.snapshot().unwrap();
        for i in 0..30 {
            if before.stale[i] < 3 {
                let row = 3 * i..3 * i + 3;
                assert_eq!(before.exemplars[row.clone()], after.exemplars[row]);
            } else {
                changes += 1;
            }
            assert!(after.stale[i] <= 3);
        }
        before = after;
    }
    assert!(changes > 20, "{changes}");
}
