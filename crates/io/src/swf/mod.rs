//! swf
