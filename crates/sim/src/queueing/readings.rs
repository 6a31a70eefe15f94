//! Misprinted formulas: as printed, or as they must be.

/// Whether a formula is taken as it stands in paper 003.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reading {
    /// As it must be.
    #[default]
    Corrected,
    /// The equation as printed in the paper.
    Printed,
}

/// A misprinted formula of paper 003.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Equation {
    /// (7): the slowdown of the first stage; printed with the service of the stage itself instead
    /// of the run time in E(1/X).
    E7,
    /// (8) and (12): the factor for M/G/m; printed without the half.
    E8,
    /// (9): the load; printed without division by the servers.
    E9,
    /// (10): the probability of waiting; printed is the probability of an empty system.
    E10,
    /// (20): the mean over partitions; printed as if each had as many jobs.
    E20,
    /// (21): the mean over sites; printed with the rate of arrivals as a factor.
    E21,
}

impl Equation {
    /// All, with their numbers.
    pub const ALL: [(Equation, u32); 6] = [
        (Equation::E7, 7),
        (Equation::E8, 8),
        (Equation::E9, 9),
        (Equation::E10, 10),
        (Equation::E20, 20),
        (Equation::E21, 21),
    ];

    /// The equation of this number; 12 is 8.
    pub fn of_number(number: u32) -> Option<Equation> {
        let number = if number == 12 { 8 } else { number };
        Equation::ALL.into_iter().find(|(_, own)| *own == number).map(|(equation, _)| equation)
    }
}

/// Which formulas are taken as printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Readings {
    printed: [bool; Equation::ALL.len()],
}

impl Readings {
    /// All as they must be.
    pub fn corrected() -> Readings {
        Readings::default()
    }

    /// As printed, where figure 5 of the paper can have come from it: all but (9), which makes
    /// every load in that figure exceed 1, and (7), which makes every slowdown at least 1.
    pub fn printed() -> Readings {
        let mut readings = Readings::default();
        for equation in [Equation::E8, Equation::E10, Equation::E20, Equation::E21] {
            readings.set(equation, Reading::Printed);
        }
        readings
    }

    /// How one formula is taken.
    pub fn of(&self, equation: Equation) -> Reading {
        match self.printed[equation as usize] {
            true => Reading::Printed,
            false => Reading::Corrected,
        }
    }

    /// Takes one formula otherwise.
    pub fn set(&mut self, equation: Equation, reading: Reading) {
        self.printed[equation as usize] = reading == Reading::Printed;
    }
}
