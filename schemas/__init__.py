"""The contracts of GradeBeam: trajectories, scores, rejects, tables, manifests and suites."""
