"""Spans of all tracing systems through one model: front-ends make `Span`s, `assemble` makes trajectories of a trace's spans."""
