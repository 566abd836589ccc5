import pytest

from harnesspro.checks.asked_form import has_its_form, keeps_its_letters


@pytest.mark.parametrize(
    ("request_text", "answer", "fits"),
    [
        ("Is it? Answer with Yes or No.", "yes", True),
        ("Is it? Answer with Yes or No.", "perhaps", False),
        ("Is it?\n(Answer Yes or No)", "no.", True),
        ("Is it? Reply with true or false.", "True", True),
        ("Is it? Reply with true or false.", "yes", False),
        ("What? Answer with one word.", "lamp", True),
        ("What? Answer with one word.", "a lamp", False),
        ("What? Answer with that one word and nothing else.", "a lamp", False),
        ("Reply with only the number.", "1,000", True),
        ("Reply with only the number.", "about 5", False),
        ("Which weekday was it?", "Friday", True),
        ("Which weekday was it?", "5", False),
        ("How many days until the weekday?", "5", True),
        ("Answer in upper case.", "LAMP", True),
        ("Answer in upper case.", "Lamp", False),
        ("Answer in lowercase.", "lamp", True),
        ("Answer with a comma-separated list.", "a, b", True),
        ("Answer with a comma-separated list.", "a; b", False),
        ("Is it yes or no?", "perhaps", True),
        ("What?", "anything", True),
    ],
)
def test_a_form_that_is_asked_for_is_kept(request_text, answer, fits):
    assert has_its_form(request_text, answer) is fits


@pytest.mark.parametrize(
    ("request_text", "answer", "fits"),
    [
        ("Spell this word backward (example: sun -> nus): lamp", "pmal", True),
        ("Spell this word backward (example: sun -> nus): lamp", "pmla", True),
        ("Spell this word backward (example: sun -> nus): lamp", "pma", False),
        ("Write these words in alphabetical order: b c a", "a, b, c", True),
        ("Write these words in alphabetical order: b c a", "a, b", False),
        ("Sort these: b a. Then count them.", "2", True),
        ("Sort these", "2", True),
        ("Count these: b a", "2", True),
    ],
)
def test_letters_turned_round_are_the_same_letters(request_text, answer, fits):
    assert keeps_its_letters(request_text, answer) is fits
