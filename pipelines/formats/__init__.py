"""Log formats: from decoded records to trajectories.

`json_values` decodes bytes, `transports` cuts files into records, `detection` finds the container, `containers` hold one format each, and
`dialects` read the messages inside.
"""
