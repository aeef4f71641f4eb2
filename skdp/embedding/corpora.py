"""Corpora on disk, read one document at a time."""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self, final

__all__ = ["LineCorpus", "TaggedCorpus"]


@final
@dataclass(frozen=True)
class LineCorpus:
    r"""A text file with one document a line; it may be larger than memory.

    Parameters
    ----------
    path : path-like
        The file.
    encoding : str, default="utf-8"
        What cannot be decoded is replaced.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from skdp.embedding import LineCorpus
    >>> path = pathlib.Path(tempfile.mkdtemp(), "corpus.txt")
    >>> _ = path.write_text("the first\nthe second\n")
    >>> list(LineCorpus(path))
    ['the first', 'the second']
    """

    path: str | Path
    encoding: str = "utf-8"

    def __iter__(self) -> Iterator[str]:
        """Yield each line without its end."""
        with open(self.path, encoding=self.encoding, errors="replace", newline="\n") as lines:
            for line in lines:
                yield line.rstrip("\r\n")


@final
@dataclass(frozen=True)
class TaggedCorpus:
    r"""A folder or zip file of tagged texts, as the Natural Language Toolkit keeps them.

    Each file is a document of words ``token/tag`` between blanks. Words are in lower case, without
    their tags.

    Parameters
    ----------
    path : path-like
        A folder or a zip file.
    files : str, default=r".*"
        Regular expression that the whole name of a file matches, its folders below `path`
        included, with forward slashes. Documents come in the order of the names.
    separator : str, default="/"
        What stands between token and tag. The last one counts.
    encoding : str, default="utf-8"
        What cannot be decoded is replaced.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from skdp.embedding import TaggedCorpus
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "ca01").write_text("The/at jury/nn his/her/pp$ ./.")
    >>> list(TaggedCorpus.brown(folder))
    [['the', 'jury', 'his/her', '.']]
    """

    path: str | Path
    files: str = ".*"
    separator: str = "/"
    encoding: str = "utf-8"

    @classmethod
    def brown(cls, path: str | Path) -> Self:
        """Return the Brown corpus, from its folder or zip file."""
        return cls(path, files=r"(.*/)?c[a-r]\d\d")

    @classmethod
    def masc(cls, path: str | Path) -> Self:
        """Return the tagged texts of MASC, from their folder or zip file."""
        return cls(path, files=r".+/.+/.+\.txt", separator="_")

    def __iter__(self) -> Iterator[list[str]]:
        """Yield the words of each document."""
        for text in self._texts():
            yield [token.rsplit(self.separator, 1)[0].lower() for token in text.split()]

    def _texts(self) -> Iterator[str]:
        root = Path(self.path)
        if root.is_dir():
            paths = {file.relative_to(root).as_posix(): file for file in root.rglob("*")}
            for name in self._chosen(name for name, file in paths.items() if file.is_file()):
                yield paths[name].read_text(encoding=self.encoding, errors="replace")
        else:
            with zipfile.ZipFile(root) as archive:
                names = (name for name in archive.namelist() if not name.endswith("/"))
                for name in self._chosen(names):
                    yield archive.read(name).decode(self.encoding, errors="replace")

    def _chosen(self, names: Iterator[str]) -> list[str]:
        return sorted(name for name in names if re.fullmatch(self.files, name))
