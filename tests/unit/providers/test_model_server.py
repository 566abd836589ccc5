import os
import subprocess
import sys

import pytest

from harnesspro.core.errors import ConfigError, ModelUnknown, ProviderError
from harnesspro.providers import model_server
from harnesspro.providers.model_server import main, model_file, start_server


def test_a_path_is_a_model_where_the_file_is_there(tmp_path):
    path = tmp_path / "mine.gguf"
    with pytest.raises(ModelUnknown, match=r"expected a GGUF file"):
        model_file(f"local/{path}")
    path.write_bytes(b"GGUF")
    assert model_file(f"local/{path}") == path


def test_a_model_that_is_not_pulled_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(ModelUnknown, match=r"run: harnesspro model pull qwen2.5-coder-1.5b"):
        start_server("local/qwen2.5-coder-1.5b", threads=1)


def test_a_missing_engine_names_the_extra(tmp_path, monkeypatch):
    (tmp_path / "mine.gguf").write_bytes(b"GGUF")
    monkeypatch.setattr(model_server, "_ENGINE", "xllamacpp_that_is_not_here")
    with pytest.raises(ConfigError, match=r"run: pip install 'harnesspro\[local\]'"):
        start_server(f"local/{tmp_path}/mine.gguf", threads=1)


def test_a_file_that_is_no_model_ends_in_one_line(tmp_path):
    (tmp_path / "mine.gguf").write_bytes(b"not a model")
    with pytest.raises(
        ProviderError, match=r"mine.gguf: the server did not start: .*invalid magic"
    ):
        start_server(f"local/{tmp_path}/mine.gguf", threads=1)


def test_the_server_does_not_outlive_a_parent_that_is_gone_already():
    command = [sys.executable, "-m", "harnesspro.providers.model_server", "--model", "x"]
    command += ["--alias", "x", "--threads", "1", "--parent", str(os.getppid())]
    assert subprocess.run(command, check=False, timeout=60).returncode == 1


def test_the_command_line_wants_a_model(capsys):
    with pytest.raises(SystemExit):
        main(["--threads", "1"])
    assert "--model" in capsys.readouterr().err
