//! Queue + grid → decisions. A policy is a pure function of the snapshot that it is given.

pub mod cyclic;
