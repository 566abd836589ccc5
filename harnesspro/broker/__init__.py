"""The only door to models during a run: its own process, with the keys, the purses, the ledger."""
