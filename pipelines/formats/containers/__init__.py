"""The containers: one module a log format, found by `pipelines.formats.detection`."""
