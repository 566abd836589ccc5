"""What a run leaves on disk: the ledger, candidate trees, the archive, trajectories, documents."""
