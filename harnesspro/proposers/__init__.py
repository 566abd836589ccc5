"""Ways of making patches; one a file. None applies, runs or judges what it proposes."""
