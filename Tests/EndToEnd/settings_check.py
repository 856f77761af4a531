"""`livegate check` on settings of a test: a fixture."""

import pytest

from programs import run

ANYBODY = "auth: {anonymous: PACC1}\n"


@pytest.fixture
def check(tmp_path):
    """Checks settings; returns the status and the lines without the folder."""
    def begin(text, env=None, file="livegate.yaml"):
        path = tmp_path / file
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        status, out, err = run("livegate", "check", "--config", path, env=env)
        assert out == ""
        return status, err.replace(f"{tmp_path}/", "").splitlines()
    return begin
