//! combine
