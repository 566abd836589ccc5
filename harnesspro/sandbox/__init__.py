"""Where the judged runs: a launcher process that starts sandboxes from typed specs.

`start` begins the launcher, `client` is the port, `probes` says which level this machine has,
`confine` takes the orchestrator's own access away. All but these four run inside the launcher.
"""
