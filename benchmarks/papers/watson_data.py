"""The data sets of watson.py, in encodings that use public facts alone, rows clipped to norm 1."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.data import Problem, adult, spambase
from skdp.preprocessing import PublicRangeScaler, RowNormClipper

#: As listed by the data set's kddcup.names.
PROTOCOLS = ["icmp", "tcp", "udp"]
FLAGS = ["OTH", "REJ", "RSTO", "RSTOS0", "RSTR", "S0", "S1", "S2", "S3", "SF", "SH"]
SERVICES = """IRC X11 Z39_50 aol auth bgp courier csnet_ns ctf daytime discard domain domain_u echo
eco_i ecr_i efs exec finger ftp ftp_data gopher harvest hostnames http http_2784 http_443 http_8001
imap4 iso_tsap klogin kshell ldap link login mtp name netbios_dgm netbios_ns netbios_ssn netstat
nnsp nntp ntp_u other pm_dump pop_2 pop_3 printer private red_i remote_job rje shell smtp sql_net
ssh sunrpc supdup systat telnet tftp_u tim_i time urh_i urp_i uucp uucp_path vmnet whois""".split()  # noqa: SIM905
#: Powers of ten above which a count makes no difference.
DIGITS = {"duration": 5, "src_bytes": 9, "dst_bytes": 9}
OTHER_DIGITS = 3
#: The windows over which connections are counted.
WINDOWS = {"count": 511, "srv_count": 511, "dst_host_count": 255, "dst_host_srv_count": 255}
KDD_ROWS = 100_000
#: Robust multi-array averages are logarithms to base 2 of 16-bit intensities.
ALL_RANGE = (2.0, 15.0)
#: Each array was standardised by those who published it.
GOLUB_RANGE = (-4.0, 4.0)


def kddcup99(folder: Path) -> Problem:
    """100,000 connections drawn from the 10 % file, normal or attack."""
    frame = pd.read_parquet(folder / "kddcup99_10pct.parquet")
    frame = frame.sample(KDD_ROWS, random_state=0)
    columns = []
    for name in frame.columns.drop(["protocol_type", "service", "flag", "label"]):
        values = frame[name].to_numpy(dtype=float)
        if name in WINDOWS:
            values = values / WINDOWS[name]
        elif not name.endswith("_rate"):
            values = np.log10(1 + values) / DIGITS.get(name, OTHER_DIGITS)
        columns.append(np.clip(values, 0, 1))
    for name, categories in (("protocol_type", PROTOCOLS), ("service", SERVICES), ("flag", FLAGS)):
        text = frame[name].astype(str).to_numpy()
        columns += [(text == category).astype(float) for category in categories]
    attack = frame["label"].astype(str).to_numpy() != "normal."
    return _problem("kddcup99", np.column_stack(columns), attack)


def gene_all(folder: Path) -> Problem:
    """128 patients, 12,625 probes; leukaemia of B or T cells."""
    stored = np.load(folder / "gene_all_128x12625.npz")
    return _problem("gene ALL", _scaled(stored["X"], ALL_RANGE), stored["y"] == "T")


def gene_golub(folder: Path) -> Problem:
    """38 patients, 3,051 genes; acute lymphoblastic or myeloid leukaemia."""
    stored = np.load(folder / "gene_golub_38x3051.npz")
    return _problem("gene Golub", _scaled(stored["X"], GOLUB_RANGE), stored["y"] == 1)


def gene_rows(name: str) -> Problem:
    """Return a gene set with values in [-1, 1] instead of rows of norm 1."""
    file, bounds, label = {
        "gene ALL": ("gene_all_128x12625.npz", ALL_RANGE, "T"),
        "gene Golub": ("gene_golub_38x3051.npz", GOLUB_RANGE, 1),
    }[name]
    stored = np.load(data_folder() / file)
    X, y = _scaled(stored["X"], bounds), (stored["y"] == label).astype(int)
    return Problem(name, X, y, 2)


def _scaled(X: np.ndarray, bounds: tuple[float, float]) -> np.ndarray:
    return PublicRangeScaler(bounds=bounds).fit_transform(X.astype(float))


def _problem(name: str, X: np.ndarray, y: np.ndarray) -> Problem:
    return Problem(name, RowNormClipper().fit_transform(X), np.asarray(y, dtype=int), 2)


def data_folder() -> Path:
    """Return the folder that SKDP_DATA names."""
    folder = os.environ.get("SKDP_DATA")
    if not folder or not Path(folder).is_dir():
        raise SystemExit("SKDP_DATA does not name the folder with the data sets")
    return Path(folder)


def problems(only: str = "") -> Iterator[Problem]:
    """Yield all sets, or those that `only` names, by commas."""
    folder = data_folder()
    makers = {
        "adult": adult,
        "spambase": lambda: spambase(folder),
        "kddcup99": lambda: kddcup99(folder),
        "gene ALL": lambda: gene_all(folder),
        "gene Golub": lambda: gene_golub(folder),
    }
    for name in only.split(",") if only else makers:
        yield makers[name]()
