"""Where right answers live, and nowhere else: sealing, the grader process, the certificate.

Imported by wiring and cli only. Candidate code never runs here.
"""
