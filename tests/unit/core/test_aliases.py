import pytest

from harnesspro.core.aliases import same_model


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("openai/gpt-4o-mini", "gpt-4o-mini"),
        ("openai/gpt-4o-mini", "gpt-4o-mini-2024-07-18"),
        ("anthropic/claude-3-5-sonnet-latest", "claude-3-5-sonnet-20241022"),
        ("sim/small", "sim/small"),
        ("openai/gpt-4o-2024-05-13", "gpt-4o-2024-08-06"),
        ("local/qwen2.5-coder-0.5b", "qwen2.5-coder-0.5b"),
    ],
)
def test_a_dated_form_or_a_name_without_its_provider_is_the_same(asked, told):
    assert same_model(asked, told)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("openai/gpt-4o", "gpt-4o-mini"),
        ("openai/gpt-4o-mini", "gpt-3.5-turbo"),
        ("azure/my-deployment", "gpt-4o-2024-08-06"),
        ("openai/gpt-4", "gpt-4.1"),
    ],
)
def test_another_name_is_another_model(asked, told):
    assert not same_model(asked, told)
