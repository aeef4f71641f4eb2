"""A PostgreSQL server of its own, on a socket in a temporary folder."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest


def programs():
    """Return the folder of postgres and initdb; None where there is no server."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((p for p in places if (p / "postgres").exists() and (p / "initdb").exists()), None)


def other_user():
    """Return keywords of `subprocess` that run a program as nobody: a server refuses to be root."""
    if os.getuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


@contextmanager
def running_server():
    """Yield the address of a fresh server; skip where there is none."""
    psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed")
    binaries = programs()
    if binaries is None:
        pytest.skip("no PostgreSQL server is installed")
    folder = tempfile.mkdtemp(prefix="pg")  # a short path: sockets allow about 100 characters
    whose = other_user()
    if whose:
        os.chown(folder, whose["user"], whose["group"])
    quiet = {"cwd": folder, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, **whose}
    make = ["initdb", "-D", f"{folder}/data", "-U", "skdp", "-A", "trust", "--no-sync"]
    subprocess.run([binaries / make[0], *make[1:], "-E", "UTF8", "--locale=C"], check=True, **quiet)
    start = ["-D", f"{folder}/data", "-k", folder, "-h", "", "-c", "fsync=off"]
    with open(f"{folder}/log", "wb") as log:
        server = subprocess.Popen([binaries / "postgres", *start], **{**quiet, "stdout": log})
    url = f"postgresql://skdp@/postgres?host={folder}"
    try:
        _wait(psycopg, server, url)
        yield url
    finally:
        server.send_signal(signal.SIGINT)  # fast shutdown
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _wait(psycopg, server, url):
    deadline = time.monotonic() + 60
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
