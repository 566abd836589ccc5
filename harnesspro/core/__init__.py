"""The judge's reasoning: values in, values out. No I/O, no clock, no global randomness."""
