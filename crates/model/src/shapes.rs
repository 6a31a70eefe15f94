//! The widths and times in which a moldable job may run: exactly one of them is taken.

use std::sync::Arc;

use crate::{Demand, Place, Request, Span};

/// So many nodes for so long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobShape {
    /// Nodes, at least 1.
    pub nodes: u32,
    /// How long the job takes on as many, at least 1 s, counted as its time is.
    pub time: Span,
}

/// The shapes of one moldable job, as listed: two or more, no two of one width, and a wider one is
/// always quicker. So the width alone says which shape a job has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shapes(Arc<[JobShape]>);

/// Why shapes are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShapesError {
    /// Not one.
    #[error("no shape")]
    Empty,
    /// More than [`Shapes::MAX`].
    #[error("{0} shapes, at most {max} are possible", max = Shapes::MAX)]
    TooMany(usize),
    /// No node, or more than [`Request::MAX_TASKS`].
    #[error("a shape of {0} nodes: from 1 to {max} are possible", max = Request::MAX_TASKS)]
    Nodes(u32),
    /// No time, or more than [`Span::MAX`].
    #[error("{} nodes for {} s: from 1 s to {max} s are possible", .0.nodes, .0.time.0, max = Span::MAX.0)]
    Time(JobShape),
    /// Twice the same number of nodes.
    #[error("two shapes of {0} nodes")]
    Twice(u32),
    /// More nodes for as long or longer: such a shape is never better.
    #[error(
        "{} nodes for {} s are never better than {} nodes for {} s",
        .0.nodes, .0.time.0, .1.nodes, .1.time.0
    )]
    Pointless(JobShape, JobShape),
}

impl ShapesError {
    /// What to do about it.
    pub fn remedy(self) -> &'static str {
        match self {
            ShapesError::Empty => "list at least one, such as `64x1h,32x1h50m`",
            ShapesError::TooMany(_) => "leave out those that differ little from others",
            ShapesError::Nodes(_) => "write NODESxTIME, such as `64x1h`",
            ShapesError::Time(_) => "write NODESxTIME, such as `64x1h`",
            ShapesError::Twice(_) => "keep the one with the time that the job needs on as many",
            ShapesError::Pointless(..) => {
                "a wider shape must be quicker: leave it out, or correct its time"
            }
        }
    }
}

impl Shapes {
    /// The most shapes of one job.
    pub const MAX: usize = 32;

    /// These shapes, in their order; the first one is what the job has until another is taken. `None`: there
    /// is only one, and the job is rigid.
    ///
    /// # Errors
    /// The first thing that is wrong with them.
    pub fn new(shapes: &[JobShape]) -> Result<Option<Shapes>, ShapesError> {
        if shapes.is_empty() {
            return Err(ShapesError::Empty);
        }
        if shapes.len() > Shapes::MAX {
            return Err(ShapesError::TooMany(shapes.len()));
        }
        for shape in shapes {
            if !(1..=Request::MAX_TASKS).contains(&shape.nodes) {
                return Err(ShapesError::Nodes(shape.nodes));
            }
            if shape.time < Span(1) || shape.time > Span::MAX {
                return Err(ShapesError::Time(*shape));
            }
        }
        let mut by_width = shapes.to_vec();
        by_width.sort_unstable();
        for pair in by_width.windows(2) {
            if pair[0].nodes == pair[1].nodes {
                return Err(ShapesError::Twice(pair[0].nodes));
            }
            if pair[0].time <= pair[1].time {
                return Err(ShapesError::Pointless(pair[1], pair[0]));
            }
        }
        Ok((shapes.len() > 1).then(|| Shapes(shapes.into())))
    }

    /// All of them, as listed.
    pub fn as_slice(&self) -> &[JobShape] {
        &self.0
    }

    /// The one of this width.
    pub fn of_width(&self, nodes: u32) -> Option<JobShape> {
        self.0.iter().copied().find(|shape| shape.nodes == nodes)
    }

    /// A time that belongs to the shape of width `from`, in the shape of width `to`: the same share of
    /// the shape's time, rounded up, at least 1 s. As it is, if there is no such shape.
    pub fn scaled(&self, time: Span, from: u32, to: u32) -> Span {
        let (Some(from), Some(to)) = (self.of_width(from), self.of_width(to)) else { return time };
        let all = i128::from(time.0) * i128::from(to.time.0);
        let scaled = (all + i128::from(from.time.0) - 1).div_euclid(i128::from(from.time.0));
        Span(scaled.clamp(1, i128::from(Span::MAX.0)) as i64)
    }
}

impl Demand {
    /// The same job in the shape of this width: its times are the same shares of that shape's time as
    /// of its own now. `None`: it has no such shape.
    pub fn in_shape(&self, nodes: u32) -> Option<Demand> {
        let shapes = self.terms().shapes.as_ref()?;
        shapes.of_width(nodes)?;
        let scale = |time: Span| shapes.scaled(time, self.processors, nodes);
        Some(Demand {
            processors: nodes,
            estimate: scale(self.estimate),
            correction: self.correction.map(scale),
            expected: self.expected.map(scale),
            terms: self.terms.clone(),
        })
    }

    /// Its shapes with the times that are expected of it.
    pub(crate) fn expected_shapes(&self) -> Option<Shapes> {
        let shapes = self.terms.as_ref()?.shapes.as_ref()?;
        let own = shapes.of_width(self.processors);
        if own.is_none_or(|own| own.time == self.estimate) {
            return Some(shapes.clone());
        }
        let of = |it: Demand| JobShape { nodes: it.processors, time: it.estimate };
        let all: Vec<JobShape> = self.in_shapes().into_iter().map(of).collect();
        // Short times may not differ any more.
        Shapes::new(&all).ok().flatten().or_else(|| Some(shapes.clone()))
    }

    /// The demand of a job that starts at this place, if that is another shape of it than its own now.
    pub fn shape_at(&self, place: &Place) -> Option<Demand> {
        self.terms.as_ref().filter(|terms| terms.shapes.is_some())?;
        let width: u64 = place.shares(self.processors).map(|share| u64::from(share.nodes)).sum();
        let width = u32::try_from(width).ok().filter(|width| *width != self.processors)?;
        self.in_shape(width)
    }

    /// The same job in each of its shapes, as listed; just as it is, if it is rigid.
    pub fn in_shapes(&self) -> Vec<Demand> {
        let shapes = self.terms().shapes.iter().flat_map(Shapes::as_slice);
        let all: Vec<Demand> = shapes.filter_map(|shape| self.in_shape(shape.nodes)).collect();
        if all.is_empty() { vec![self.clone()] } else { all }
    }

    /// The processors of its widest shape.
    pub fn most_processors(&self) -> u32 {
        let shapes = self.terms().shapes.iter().flat_map(Shapes::as_slice);
        shapes.map(|shape| shape.nodes).fold(self.processors, u32::max)
    }

    /// Whether it has more than one shape.
    pub fn is_moldable(&self) -> bool {
        self.terms.as_ref().is_some_and(|terms| terms.shapes.is_some())
    }
}

impl Request {
    /// The same request in each of its shapes, as listed; just as it is, if it is rigid.
    pub fn in_shapes(&self) -> Vec<Request> {
        let rigid = Request { shapes: None, ..self.clone() };
        let Some(shapes) = &self.shapes else { return vec![rigid] };
        let of =
            |shape: &JobShape| Request { tasks: shape.nodes, work: shape.time, ..rigid.clone() };
        shapes.as_slice().iter().map(of).collect()
    }

    /// The request in the shape of this width; just as it is, if it is rigid or has no such shape.
    pub fn of_width(&self, nodes: usize) -> Request {
        let has = |request: &Request| request.tasks as usize == nodes;
        let all = self.in_shapes().into_iter();
        all.rev().find(has).unwrap_or_else(|| Request { shapes: None, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Terms;

    fn shape(nodes: u32, time: i64) -> JobShape {
        JobShape { nodes, time: Span(time) }
    }

    #[test]
    fn what_is_no_list_of_shapes_is_refused() {
        let of = |shapes: &[(u32, i64)]| {
            Shapes::new(&shapes.iter().map(|it| shape(it.0, it.1)).collect::<Vec<_>>())
        };
        assert_eq!(of(&[]), Err(ShapesError::Empty));
        assert_eq!(of(&[(64, 3_600)]), Ok(None));
        assert_eq!(of(&[(0, 5), (1, 2)]), Err(ShapesError::Nodes(0)));
        assert_eq!(of(&[(u32::MAX, 5)]), Err(ShapesError::Nodes(u32::MAX)));
        assert_eq!(of(&[(2, 0)]), Err(ShapesError::Time(shape(2, 0))));
        assert_eq!(of(&[(2, i64::MAX)]), Err(ShapesError::Time(shape(2, i64::MAX))));
        assert_eq!(of(&[(2, 5), (4, 3), (2, 6)]), Err(ShapesError::Twice(2)));
        let pointless = Err(ShapesError::Pointless(shape(4, 5), shape(2, 5)));
        assert_eq!(of(&[(4, 5), (2, 5)]), pointless);
        let many: Vec<(u32, i64)> = (1..=33).map(|n| (n, 100 - i64::from(n))).collect();
        assert_eq!(of(&many), Err(ShapesError::TooMany(33)));
        assert_eq!(of(&many[..32]).unwrap().unwrap().as_slice().len(), 32);
    }

    #[test]
    fn times_keep_their_share_of_the_shape() {
        let shapes = Shapes::new(&[shape(64, 3_600), shape(16, 12_600)]).unwrap().unwrap();
        assert_eq!(shapes.scaled(Span(3_600), 64, 16), Span(12_600));
        assert_eq!(shapes.scaled(Span(1_000), 64, 16), Span(3_500));
        assert_eq!(shapes.scaled(Span(1), 16, 64), Span(1));
        assert_eq!(shapes.scaled(Span(7), 64, 63), Span(7));
        let terms = Terms { shapes: Some(shapes), ..Terms::default() };
        let demand = Demand { terms: Some(Arc::new(terms)), ..Demand::new(64, Span(3_600)) };
        let widths: Vec<(u32, Span)> =
            demand.in_shapes().iter().map(|it| (it.processors, it.estimate)).collect();
        assert_eq!(widths, [(64, Span(3_600)), (16, Span(12_600))]);
        assert_eq!(demand.in_shape(16).unwrap().in_shape(64), Some(demand.clone()));
        assert_eq!(demand.in_shape(17), None);
        let requests = demand.request().in_shapes();
        assert_eq!(requests[1], demand.request().of_width(16));
        assert_eq!((requests[1].tasks, requests[1].work), (16, Span(12_600)));
    }
}
