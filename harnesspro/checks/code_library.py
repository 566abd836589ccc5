"""Small functions that are right: what probes for code are made from.

Each ends on every input of its annotated kinds: loops run over what is there, nothing recurses.
`{k}` is a number that a probe fills in, so that no two need ask for the same.
"""

from __future__ import annotations

from typing import NamedTuple


class Reference(NamedTuple):
    """A function that is right by construction. `body` lines are not indented."""

    name: str
    signature: str
    words: str
    body: str
    constants: tuple[int, ...] = (2, 3, 4, 5)

    def source(self, name: str, k: int, *, examples: str = "") -> str:
        """The function under this name with this number, its examples in the docstring."""
        words = self.words.format(k=k)
        doc = f'    """{words}\n{examples}    """' if examples else f'    """{words}"""'
        lines = self.body.format(k=k).splitlines()
        indented = "\n".join(f"    {line}" for line in lines)
        return f"def {name}{self.signature}:\n{doc}\n{indented}\n"


_NUMBERS = "(numbers: list[int]) -> int"
_LIST = "(numbers: list[int]) -> list[int]"
_TEXT = "(text: str) -> str"
_COUNT = "(text: str) -> int"
_WORDS = "(words: list[str]) -> list[str]"

REFERENCES: tuple[Reference, ...] = (
    Reference(
        "count_above",
        _NUMBERS,
        "Return how many of the numbers are larger than {k}.",
        "return sum(1 for number in numbers if number > {k})",
    ),
    Reference(
        "sum_of_multiples",
        _NUMBERS,
        "Return the sum of the numbers that {k} divides.",
        "return sum(number for number in numbers if number % {k} == 0)",
    ),
    Reference(
        "largest_gap",
        _NUMBERS,
        "Return the largest difference between neighbours, at least {k}.",
        "best = {k}\nfor left, right in zip(numbers, numbers[1:]):\n"
        "    best = max(best, abs(right - left))\nreturn best",
        (0, 1, 2, 3),
    ),
    Reference(
        "longest_rise",
        _NUMBERS,
        "Return the length of the longest run in which each number is more than its predecessor "
        "plus {k}; 0 where there are no numbers.",
        "best = length = 0\nlast = None\nfor number in numbers:\n"
        "    length = length + 1 if last is not None and number > last + {k} else 1\n"
        "    best = max(best, length)\n    last = number\nreturn best",
        (0, 1, 2),
    ),
    Reference(
        "second_largest",
        _NUMBERS,
        "Return the second largest of the different numbers, or -{k} where there are fewer than "
        "two.",
        "different = sorted(set(numbers))\nif len(different) < 2:\n    return -{k}\n"
        "return different[-2]",
        (1, 2, 9),
    ),
    Reference(
        "alternating_sum",
        _NUMBERS,
        "Add the numbers at even positions, take away those at odd positions, and return {k} times "
        "the result.",
        "total = 0\nfor position, number in enumerate(numbers):\n"
        "    total = total + number if position % 2 == 0 else total - number\n"
        "return {k} * total",
        (1, 2, 3, 5),
    ),
    Reference(
        "pairs_that_make",
        _NUMBERS,
        "Return how many pairs of positions hold numbers whose sum is {k}.",
        "count = 0\nfor i in range(len(numbers)):\n    for j in range(i + 1, len(numbers)):\n"
        "        if numbers[i] + numbers[j] == {k}:\n            count += 1\nreturn count",
        (0, 3, 5, 8),
    ),
    Reference(
        "capped_total",
        _NUMBERS,
        "Return the sum of the numbers, each counted as at most {k}.",
        "total = 0\nfor number in numbers:\n    total += min(number, {k})\nreturn total",
    ),
    Reference(
        "first_repeat",
        _NUMBERS,
        "Return the first number that has been seen before, or -{k} where none has.",
        "seen = set()\nfor number in numbers:\n    if number in seen:\n        return number\n"
        "    seen.add(number)\nreturn -{k}",
        (1, 2, 7),
    ),
    Reference(
        "balance_point",
        _NUMBERS,
        "Return the first position where the sum before it and the sum behind it differ by at most "
        "{k}, or -1.",
        "for position in range(len(numbers)):\n"
        "    if abs(sum(numbers[:position]) - sum(numbers[position + 1:])) <= {k}:\n"
        "        return position\nreturn -1",
        (0, 1, 2),
    ),
    Reference(
        "keep_every",
        _LIST,
        "Return every number at a position that {k} divides, in order.",
        "return [number for position, number in enumerate(numbers) if position % {k} == 0]",
    ),
    Reference(
        "rotate",
        _LIST,
        "Return the numbers moved {k} places to the left; what falls off comes back at the end.",
        "if not numbers:\n    return []\nshift = {k} % len(numbers)\n"
        "return numbers[shift:] + numbers[:shift]",
        (1, 2, 3),
    ),
    Reference(
        "running_total",
        _LIST,
        "Return the running total of the numbers, which starts at {k}.",
        "total = {k}\nfound = []\nfor number in numbers:\n    total += number\n"
        "    found.append(total)\nreturn found",
        (0, 1, 10),
    ),
    Reference(
        "drop_repeats",
        _LIST,
        "Return the numbers without those that already stand {k} times before them.",
        "found = []\nfor number in numbers:\n    if found.count(number) < {k}:\n"
        "        found.append(number)\nreturn found",
        (1, 2, 3),
    ),
    Reference(
        "clamp_all",
        _LIST,
        "Return the numbers, those under -{k} raised to -{k} and those over {k} lowered to {k}.",
        "return [max(-{k}, min({k}, number)) for number in numbers]",
    ),
    Reference(
        "sort_by_remainder",
        _LIST,
        "Return the numbers sorted by their remainder under {k}, equal remainders by size.",
        "return sorted(numbers, key=lambda number: (number % {k}, number))",
    ),
    Reference(
        "sums_of_windows",
        _LIST,
        "Return the sum of every {k} neighbours, from left to right.",
        "return [sum(numbers[i:i + {k}]) for i in range(len(numbers) - {k} + 1)]",
        (2, 3, 4),
    ),
    Reference(
        "odd_then_even",
        _LIST,
        "Return the odd numbers in order, then {k} times each of the even ones in order.",
        "odd = [number for number in numbers if number % 2 == 1]\n"
        "even = [number * {k} for number in numbers if number % 2 == 0]\nreturn odd + even",
        (1, 2, 3),
    ),
    Reference(
        "local_peaks",
        _LIST,
        "Return the numbers that are larger than both neighbours and larger than {k}.",
        "found = []\nfor i in range(1, len(numbers) - 1):\n"
        "    if numbers[i - 1] < numbers[i] > numbers[i + 1] and numbers[i] > {k}:\n"
        "        found.append(numbers[i])\nreturn found",
        (0, 1, 3),
    ),
    Reference(
        "largest_few",
        _LIST,
        "Return the {k} largest numbers, the largest first; all of them where there are fewer.",
        "return sorted(numbers, reverse=True)[:{k}]",
    ),
    Reference(
        "differences",
        _LIST,
        "Return each number less the one {k} places before it, from position {k} on.",
        "return [numbers[i] - numbers[i - {k}] for i in range({k}, len(numbers))]",
        (1, 2, 3),
    ),
    Reference(
        "count_vowels",
        _COUNT,
        "Return how many vowels (a, e, i, o, u in either case) the text has beyond the first {k}.",
        "count = 0\nfor char in text:\n    if char.lower() in 'aeiou':\n        count += 1\n"
        "return max(0, count - {k})",
        (0, 1, 2),
    ),
    Reference(
        "count_long_words",
        _COUNT,
        "Return how many words of the text, parted by spaces, have more than {k} characters.",
        "return sum(1 for word in text.split() if len(word) > {k})",
        (1, 2, 3),
    ),
    Reference(
        "longest_run",
        _COUNT,
        "Return the length of the longest run of one character, or {k} where the text is empty.",
        "if not text:\n    return {k}\nbest = length = 1\nfor left, right in zip(text, text[1:]):\n"
        "    length = length + 1 if left == right else 1\n    best = max(best, length)\n"
        "return best",
        (0, 1, 2),
    ),
    Reference(
        "deepest_nesting",
        _COUNT,
        "Return how deep the round brackets are nested at most, times {k}; a bracket that closes "
        "nothing is passed over.",
        "depth = deepest = 0\nfor char in text:\n    if char == '(':\n        depth += 1\n"
        "        deepest = max(deepest, depth)\n    elif char == ')' and depth > 0:\n"
        "        depth -= 1\nreturn deepest * {k}",
        (1, 2, 3),
    ),
    Reference(
        "checksum",
        _COUNT,
        "Return the sum of each character's code times its position (from 1), modulo {k}.",
        "total = 0\nfor position, char in enumerate(text, start=1):\n"
        "    total += position * ord(char)\nreturn total % {k}",
        (97, 101, 256),
    ),
    Reference(
        "different_letters",
        _COUNT,
        "Return how many different letters occur at least {k} times, case aside.",
        "lowered = text.lower()\nletters = set(char for char in lowered if char.isalpha())\n"
        "return sum(1 for char in letters if lowered.count(char) >= {k})",
        (1, 2, 3),
    ),
    Reference(
        "shift_letters",
        _TEXT,
        "Return the text with each small letter a-z moved {k} places on, z followed by a.",
        "found = ''\nfor char in text:\n    if 'a' <= char <= 'z':\n"
        "        char = chr((ord(char) - ord('a') + {k}) % 26 + ord('a'))\n    found += char\n"
        "return found",
        (1, 3, 5, 13),
    ),
    Reference(
        "every_nth_upper",
        _TEXT,
        "Return the text in lower case, each {k}th character (from the {k}th on) in upper case.",
        "found = ''\nfor position, char in enumerate(text, start=1):\n"
        "    found += char.upper() if position % {k} == 0 else char.lower()\nreturn found",
    ),
    Reference(
        "squeeze",
        _TEXT,
        "Return the text with every run of one character shortened to at most {k}.",
        "found = ''\nfor char in text:\n    if not found.endswith(char * {k}):\n"
        "        found += char\nreturn found",
        (1, 2, 3),
    ),
    Reference(
        "reverse_words",
        _TEXT,
        "Return the words of the text, parted by single spaces; those longer than {k} are turned "
        "round.",
        "found = []\nfor word in text.split():\n"
        "    found.append(word[::-1] if len(word) > {k} else word)\nreturn ' '.join(found)",
        (1, 2, 3),
    ),
    Reference(
        "shorten",
        _TEXT,
        "Return the text; where it is longer than {k} characters, its first {k} and two dots.",
        "if len(text) <= {k}:\n    return text\nreturn text[:{k}] + '..'",
    ),
    Reference(
        "run_lengths",
        _TEXT,
        "Return each run of one character as the character, and behind it the run's length where "
        "it is {k} or more.",
        "runs = []\nfor char in text:\n    if runs and runs[-1][0] == char:\n"
        "        runs[-1][1] += 1\n    else:\n        runs.append([char, 1])\n"
        "return ''.join(char + (str(n) if n >= {k} else '') for char, n in runs)",
        (1, 2, 3),
    ),
    Reference(
        "swap_halves",
        _TEXT,
        "Return the text's second half followed by its first; a middle character belongs to the "
        "first. The whole is repeated {k} times.",
        "middle = (len(text) + 1) // 2\nreturn (text[middle:] + text[:middle]) * {k}",
        (1, 2),
    ),
    Reference(
        "longer_words",
        _WORDS,
        "Return the words with more than {k} characters, in order.",
        "return [word for word in words if len(word) > {k}]",
        (1, 2, 3),
    ),
    Reference(
        "by_length",
        _WORDS,
        "Return the words sorted by length, equal lengths in alphabetical order, at most {k}.",
        "return sorted(words, key=lambda word: (len(word), word))[:{k}]",
    ),
    Reference(
        "common_start",
        "(words: list[str]) -> str",
        "Return the longest text that all words begin with, at most {k} characters; the empty text "
        "where there are no words.",
        "if not words:\n    return ''\nfound = ''\nfor chars in zip(*words):\n"
        "    if len(set(chars)) > 1 or len(found) >= {k}:\n        break\n"
        "    found += chars[0]\nreturn found",
        (2, 3, 5),
    ),
    Reference(
        "word_counts",
        "(words: list[str]) -> dict[str, int]",
        "Return how often each word occurs, leaving out those that occur fewer than {k} times.",
        "counts = {{}}\nfor word in words:\n    counts[word] = counts.get(word, 0) + 1\n"
        "return {{word: n for word, n in counts.items() if n >= {k}}}",
        (1, 2),
    ),
    Reference(
        "digit_sum",
        "(number: int) -> int",
        "Return the sum of the decimal digits of the number's size, plus {k} where the number is "
        "negative.",
        "total = sum(int(digit) for digit in str(abs(number)))\n"
        "return total + {k} if number < 0 else total",
        (1, 10, 100),
    ),
    Reference(
        "divisors",
        "(number: int) -> list[int]",
        "Return the divisors of the number that are at least {k}, smallest first; none where the "
        "number is not positive.",
        "return [d for d in range({k}, number + 1) if number % d == 0]",
        (1, 2, 3),
    ),
    Reference(
        "is_prime_beyond",
        "(number: int) -> bool",
        "Return whether the number is a prime larger than {k}.",
        "if number < 2 or number <= {k}:\n    return False\nfor d in range(2, number):\n"
        "    if number % d == 0:\n        return False\nreturn True",
        (1, 2, 5),
    ),
    Reference(
        "to_base",
        "(number: int) -> str",
        "Return the number, taken without its sign, in base {k}; zero is '0'.",
        "rest = abs(number)\ndigits = ''\nfor _ in range(rest.bit_length()):\n"
        "    if rest > 0:\n        digits = str(rest % {k}) + digits\n        rest //= {k}\n"
        "return digits or '0'",
        (2, 3, 5, 8),
    ),
    Reference(
        "steps_down",
        "(number: int) -> int",
        "Return how often the number can be halved, rounding down, before it is {k} or less.",
        "steps = 0\nfor _ in range(max(0, number).bit_length()):\n    if number > {k}:\n"
        "        number //= 2\n        steps += 1\nreturn steps",
        (1, 2, 3),
    ),
    Reference(
        "overlap",
        "(first: list[int], second: list[int]) -> list[int]",
        "Return the different numbers larger than {k} that stand in both lists, smallest first.",
        "return sorted(number for number in set(first) & set(second) if number > {k})",
        (0, 1, 2),
    ),
    Reference(
        "merge_turns",
        "(first: list[int], second: list[int]) -> list[int]",
        "Return the numbers of both lists in turn, {k} of the first and then one of the second, "
        "until the second is used up; the rest of the first is left out.",
        "found = []\nfor turn, number in enumerate(second):\n"
        "    found += first[turn * {k}:(turn + 1) * {k}]\n    found.append(number)\nreturn found",
        (1, 2),
    ),
    Reference(
        "within_reach",
        "(first: str, second: str) -> bool",
        "Return whether the texts are equally long and differ at no more than {k} positions.",
        "if len(first) != len(second):\n    return False\n"
        "return sum(a != b for a, b in zip(first, second)) <= {k}",
        (1, 2, 3),
    ),
    Reference(
        "fits_between",
        "(number: int, low: int, high: int) -> bool",
        "Return whether the number lies between low and high, both included and in either order, "
        "with {k} to spare at each end.",
        "if low > high:\n    low, high = high, low\nreturn low + {k} <= number <= high - {k}",
        (0, 1, 2),
    ),
    Reference(
        "weighted_mean",
        "(numbers: list[float]) -> float",
        "Return the mean of the numbers where the first counts {k} times; 0.0 where there are none.",
        "if not numbers:\n    return 0.0\ntotal = sum(numbers) + ({k} - 1) * numbers[0]\n"
        "return total / (len(numbers) + {k} - 1)",
        (2, 3, 4),
    ),
)
