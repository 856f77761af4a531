"""A gateway that speaks TLS: a fixture of the tests of TLS."""

import pytest


@pytest.fixture
def open_door(gateway, mock_broker, certificates):
    def begin(kind="ecdsa", **changes):
        return gateway(mock_broker.bootstrap, tls=certificates.settings[kind], **changes)
    return begin
