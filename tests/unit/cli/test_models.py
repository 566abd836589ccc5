import json
from pathlib import Path

import pytest
import typer

from harnesspro.cli import models
from harnesspro.core.errors import ModelUnknown
from harnesspro.providers.downloads import CATALOGUE


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def run(*arguments: str) -> object:
    app = typer.Typer()
    models.register(app)
    return app(args=list(arguments), prog_name="harnesspro", standalone_mode=False)


def test_the_list_says_how_to_get_what_is_not_here(capsys):
    assert run("model", "list") == 0
    assert capsys.readouterr().out.splitlines()[0] == (
        "local/qwen2.5-coder-0.5b: 491 MB, $0.10 per million tokens (list); "
        "not here; run: harnesspro model pull local/qwen2.5-coder-0.5b"
    )


def test_the_list_as_a_document_names_source_hash_and_place(capsys, cache):
    path = CATALOGUE["qwen2.5-coder-1.5b"].path
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF")
    run("model", "list", "--json")
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "harnesspro/models@1"
    assert [(row["name"], row["path"]) for row in document["models"]] == [
        ("local/qwen2.5-coder-0.5b", None),
        ("local/qwen2.5-coder-1.5b", str(path)),
    ]
    assert document["models"][1]["repository"] == "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF"


@pytest.mark.parametrize("verb", ["pull", "serve"])
def test_an_unknown_model_is_refused_before_anything_starts(verb):
    with pytest.raises(ModelUnknown, match=r"no local model of this name"):
        run("model", verb, "gpt-2")


def test_serving_a_model_that_is_not_here_names_the_command():
    with pytest.raises(ModelUnknown, match=r"run: harnesspro model pull qwen2.5-coder-0.5b"):
        run("model", "serve", "local/qwen2.5-coder-0.5b")
