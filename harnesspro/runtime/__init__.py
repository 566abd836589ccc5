"""An optimised harness as a callable in someone's service; no sandbox, store or LangGraph."""
