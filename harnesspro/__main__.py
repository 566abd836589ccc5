"""`python -m harnesspro`."""

from harnesspro.cli import main

main()
