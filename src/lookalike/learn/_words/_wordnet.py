"""The noun hierarchy of WordNet, read from its database files as Debian's ``wordnet-base`` lays them down.

Only what a taxonomy needs: the senses of a noun, the first hypernym of a sense, and how many hyponyms it
has. Entries are found by their byte offset, so nothing is parsed that is not asked for. (nltk's reader asks
for files that ``wordnet-base`` does not have; the tests compare with it over a copy that has them.)
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

from lookalike.errors import LookalikeError

SETTING = "WNSEARCHDIR"  # the environment variable by which WordNet's own tools are told the folder
FOLDERS = ("/usr/share/wordnet", "/usr/share/wordnet/dict", "/usr/local/share/wordnet")
ENDINGS = (  # how a plural may end, and how its singular does
    ("s", ""),
    ("ses", "s"),
    ("xes", "x"),
    ("zes", "z"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("men", "man"),
    ("ies", "y"),
)


def find_wordnet(folder: str | Path | None = None) -> Path:
    """The folder of WordNet's nouns: the one given, that of ``WNSEARCHDIR``, or where systems put it."""
    told = folder if folder is not None else os.environ.get(SETTING)
    for place in (told,) if told else FOLDERS:
        if (Path(place) / "data.noun").is_file() and (Path(place) / "index.noun").is_file():
            return Path(place)
    raise LookalikeError(
        f"there is no WordNet in {told or 'the usual places'}: install it ('apt install wordnet-base') "
        f"or name the folder of its files in the environment variable {SETTING}."
    )


def singulars(word: str) -> list[str]:
    """What a word may be the plural of, by its ending."""
    return [word[: -len(end)] + new for end, new in ENDINGS if word.endswith(end) and len(word) > len(end)]


class WordNet:
    """Nouns of WordNet; a sense is the byte offset of its entry.

    Parameters
    ----------
    folder : path, default=None
        Where ``index.noun`` and ``data.noun`` are; None looks in the usual places.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        place = find_wordnet(folder)
        self._index = b"\n" + (place / "index.noun").read_bytes()
        self._data = (place / "data.noun").read_bytes()
        irregular = place / "noun.exc"
        lines = irregular.read_text("utf-8").splitlines() if irregular.is_file() else []
        self._irregular = {line.split()[0]: line.split()[1] for line in lines if len(line.split()) > 1}

    def _lookup(self, lemma: str) -> list[int]:
        key = lemma.lower().replace(" ", "_").encode()
        at = self._index.find(b"\n" + key + b" n ")
        if at < 0:
            return []
        line = self._index[at + 1 : self._index.index(b"\n", at + 1)].split()
        count = int(line[2])
        return [int(x) for x in line[-count:]]

    def lemma(self, word: str) -> str | None:
        """The noun's base form in WordNet, or None where it is not there."""
        if self._lookup(word):
            return word
        key = word.lower().replace(" ", "_")
        forms = [self._irregular[key]] if key in self._irregular else []
        forms += singulars(key)
        return next((form for form in forms if self._lookup(form)), None)

    def senses(self, word: str) -> list[int]:
        """The senses of a noun, the most frequent first; empty where it is not in WordNet."""
        base = self.lemma(word)
        return [] if base is None else self._lookup(base)

    @functools.cache  # noqa: B019 - one reader lives as long as its taxonomy is being built
    def _entry(self, sense: int) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
        """Name, hypernyms and hyponyms of a sense (instances count as hyponyms of no one)."""
        fields = self._data[sense : self._data.index(b"\n", sense)].split(b" | ")[0].decode().split()
        words = int(fields[3], 16)
        name = fields[4].replace("_", " ")
        pointers = fields[4 + 2 * words :]  # their number, then four fields each
        up, down = [], []
        for kind, target, part in zip(pointers[1::4], pointers[2::4], pointers[3::4]):
            if part == "n" and kind in ("@", "@i"):
                up.append(int(target))
            elif part == "n" and kind == "~":
                down.append(int(target))
        return name, tuple(up), tuple(down)

    def name(self, sense: int) -> str:
        """The first word of a sense."""
        return self._entry(sense)[0]

    def path(self, sense: int) -> list[int]:
        """From the root down to the sense, by first hypernyms."""
        chain = [sense]
        while ups := self._entry(chain[-1])[1]:
            chain.append(ups[0])
        return chain[::-1]

    def n_hyponyms(self, sense: int) -> int:
        """How many different senses lie below."""
        seen: set[int] = set()
        todo = list(self._entry(sense)[2])
        while todo:
            one = todo.pop()
            if one not in seen:
                seen.add(one)
                todo.extend(self._entry(one)[2])
        return len(seen)
