"""Judges in a pipeline: what outlives a process (cache, ledger) and the step that carries blocks to a runner."""
