"""Ports for processes of one host that find each other by one."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port of this host that nothing uses just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
