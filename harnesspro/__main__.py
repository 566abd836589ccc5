"""`python -m harnesspro`."""

from harnesspro.cli.app import main

main()
