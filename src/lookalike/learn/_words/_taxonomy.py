"""``Taxonomy``: a tree of concepts over a vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lookalike.learn._words._wordnet import WordNet, singulars

Array = NDArray[Any]


class Taxonomy:
    """A tree of concepts above the words of a vocabulary.

    Every word has a node; a node above words stands for all of them. A node with a single child is left
    out unless it is a word itself (section 4.1 of [1]_).

    Parameters
    ----------
    names : sequence of str
        Of the nodes; the first is the root and a parent comes before its children.
    parents : sequence of int
        The parent of each node; that of the root is -1.
    words : mapping of str to int
        The node of each word of the vocabulary; several words may share one.
    sizes : sequence of int, default=None
        How many concepts of the language each node covers, itself included. None counts nodes.
    aliases : mapping of str to int, default=None
        Concepts that were left out as they had a single child, and the node that stands for them:
        :meth:`find` knows them.

    References
    ----------
    .. [1] S. Kosinov, PhD thesis 3707, University of Geneva, 2005, chapter 4.

    Examples
    --------
    >>> edges = [("plant", "tree"), ("plant", "flower"), ("thing", "plant"), ("thing", "sky")]
    >>> tree = Taxonomy.from_edges(edges)
    >>> print(tree)
    thing
      plant
        flower
        tree
      sky
    >>> tree.words_below("plant")
    ['flower', 'tree']
    >>> tree.path("tree")
    ['thing', 'plant', 'tree']
    """

    def __init__(
        self,
        names: Sequence[str],
        parents: Sequence[int],
        words: Mapping[str, int],
        sizes: Sequence[int] | None = None,
        aliases: Mapping[str, int] | None = None,
    ) -> None:
        self.names = list(names)
        self.parents = np.asarray(parents, dtype=np.int64)
        self.words = dict(sorted(words.items()))
        if len(self.names) != len(self.parents) or not self.names or self.parents[0] != -1:
            raise ValueError("names and parents must have one length, and the first node must be the root.")
        if len(set(self.names)) != len(self.names):
            raise ValueError("two nodes have one name.")
        if np.any(self.parents[1:] >= np.arange(1, len(self.names))) or np.any(self.parents[1:] < 0):
            raise ValueError("the parent of each node but the root must come before it.")
        self._number = {name: i for i, name in enumerate(self.names)}
        self._below = self._find_words_below()
        self.sizes = self._count() if sizes is None else np.asarray(sizes, dtype=np.int64)
        self.aliases = dict(sorted((aliases or {}).items()))

    def _find_words_below(self) -> list[list[str]]:
        below: list[list[str]] = [[] for _ in self.names]
        for word, node in self.words.items():
            while node >= 0:
                below[node].append(word)
                node = int(self.parents[node])
        return below

    def _count(self) -> Array:
        counts = np.ones(len(self.names), np.int64)
        for i in range(len(self.names) - 1, 0, -1):
            counts[self.parents[i]] += counts[i]
        return counts

    # --- where a tree comes from ---

    @classmethod
    def from_paths(
        cls,
        paths: Mapping[str, Sequence[Hashable]],
        *,
        labels: Mapping[Hashable, str] | None = None,
        size: Callable[[Any], int] | None = None,
        root: str = "entity",
    ) -> Self:
        """From a chain of concepts for each word, the root first and the word's own concept last.

        Words with an empty chain hang under the root. Nodes with one child that are no word are left out.
        ``size`` tells how many concepts of the language a kept concept covers.
        """
        labels = labels or {}
        children: dict[Hashable, dict[Hashable, None]] = {}
        tops: dict[Hashable, None] = {}
        own: dict[Hashable, list[str]] = {}
        parent: dict[Hashable, Hashable] = {}
        for word in sorted(paths):
            chain = list(paths[word]) or [("", word)]
            tops[chain[0]] = None
            for above, node in pairwise(chain):
                if parent.setdefault(node, above) != above:
                    raise ValueError(f"{node!r} has two parents; a taxonomy is a tree.")
                children.setdefault(above, {})[node] = None
            own.setdefault(chain[-1], []).append(word)
        named_root: Hashable = ("", None)
        if len(tops) == 1 and next(iter(tops)) not in own:
            named_root = next(iter(tops))
        else:
            children[named_root] = tops
        builder = _Builder(children, own, labels, size)
        builder.add(named_root, -1, root if named_root == ("", None) else None)
        sizes = builder.sizes if size else None
        return cls(builder.names, builder.parents, builder.words, sizes, builder.aliases)

    @classmethod
    def from_wordnet(
        cls,
        words: Iterable[str],
        *,
        senses: Mapping[str, str] | None = None,
        folder: str | Path | None = None,
    ) -> Self:
        """From WordNet's nouns: the first sense of each word and its first hypernyms.

        Parameters
        ----------
        words : iterable of str
            The vocabulary; plurals are found too. A word that WordNet has not hangs under the root.
        senses : mapping, default=None
            For some words, another noun to look up, and with ``#`` the number of its sense:
            ``{"bank": "bank#2"}``.
        folder : path, default=None
            Of WordNet's files; None takes that of the environment variable ``WNSEARCHDIR``, or looks where
            Debian's ``wordnet-base`` puts them.
        """
        lexicon = WordNet(folder)
        paths: dict[str, list[Hashable]] = {}
        for word in dict.fromkeys(words):
            noun, _, number = (senses or {}).get(word, word).partition("#")
            found = lexicon.senses(noun)
            index = int(number) - 1 if number else 0
            if (number or (senses and word in senses)) and not 0 <= index < len(found):
                raise ValueError(f"WordNet has no sense {number or 1} of {noun!r} for the word {word!r}.")
            paths[word] = list(lexicon.path(found[index])) if found else []
        nodes = {node for chain in paths.values() for node in chain}
        labels = {node: lexicon.name(node) for node in nodes}  # type: ignore[arg-type]
        return cls.from_paths(paths, labels=labels, size=lambda node: 1 + lexicon.n_hyponyms(node))

    @classmethod
    def from_edges(cls, edges: Iterable[tuple[str, str]], *, words: Iterable[str] | None = None) -> Self:
        """From pairs (parent, child). The words are the nodes without children, or those given."""
        pairs = list(edges)
        parent: dict[str, str] = {}
        for above, node in pairs:
            if parent.setdefault(node, above) != above:
                raise ValueError(f"{node!r} has two parents; a taxonomy is a tree.")
        inner = {above for above, _ in pairs}
        vocabulary = list(words) if words is not None else [n for n in parent if n not in inner]
        paths: dict[str, list[Hashable]] = {}
        for word in vocabulary:
            chain: list[Hashable] = [word]
            while chain[-1] in parent:
                chain.append(parent[str(chain[-1])])
                if len(chain) > len(parent) + 1:
                    raise ValueError(f"{word!r} lies above itself; a taxonomy is a tree.")
            paths[word] = chain[::-1] if len(chain) > 1 else []
        return cls.from_paths(paths)

    @classmethod
    def from_folders(cls, folders: Iterable[str | PurePosixPath], *, root: str = "everything") -> Self:
        """From nested folders (relative paths): a folder's name is a word, what holds it is above it."""
        paths: dict[str, list[Hashable]] = {}
        labels: dict[Hashable, str] = {}
        for folder in folders:
            parts = PurePosixPath(str(folder).replace("\\", "/")).parts
            if not parts:
                continue
            chain = [PurePosixPath(*parts[: i + 1]) for i in range(len(parts))]
            if parts[-1] in paths and paths[parts[-1]][-1] != chain[-1]:
                raise ValueError(f"the folder name {parts[-1]!r} occurs in two places; words must be unique.")
            paths[parts[-1]] = list(chain)
            labels.update({p: p.name for p in chain})
        if not paths:
            raise ValueError("there is no folder to make words of.")
        top: Hashable = PurePosixPath()
        return cls.from_paths({w: [top, *chain] for w, chain in paths.items()}, labels={**labels, top: root})

    @classmethod
    def flat(cls, words: Iterable[str], *, root: str = "entity") -> Self:
        """No hierarchy: every word under the root."""
        return cls.from_paths({word: [] for word in words}, root=root)

    # --- what one asks of it ---

    def __len__(self) -> int:
        return len(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self._number or name in self.words

    def node(self, name: str) -> int:
        """The number of a node by its name, or of the node of a word."""
        if name in self._number:
            return self._number[name]
        if name in self.words:
            return self.words[name]
        raise KeyError(f"{name!r} is neither a concept nor a word of this taxonomy.")

    def find(self, name: str) -> int | None:
        """The node that a person means: in any case, in the plural, or by a concept that was left out.

        Examples
        --------
        >>> tree = Taxonomy.from_edges([("thing", "plant"), ("plant", "Oak"), ("thing", "sky")])
        >>> tree.names[tree.find("oaks")], tree.names[tree.find("plant")], tree.find("cat")
        ('Oak', 'Oak', None)
        """
        if name in self:
            return self.node(name)
        meant = {_plain(k): i for k, i in [*self.aliases.items(), *self.words.items(), *self._number.items()]}
        forms = [_plain(name), *singulars(_plain(name))]
        return next((meant[form] for form in forms if form in meant), None)

    def path(self, name: str) -> list[str]:
        """Names from the root down to a node."""
        return [self.names[i] for i in self.path_numbers(self.node(name))]

    def path_numbers(self, node: int) -> list[int]:
        """Numbers from the root down to a node."""
        chain = [node]
        while self.parents[chain[-1]] >= 0:
            chain.append(int(self.parents[chain[-1]]))
        return chain[::-1]

    def words_below(self, name: str) -> list[str]:
        """The words a node stands for, its own included."""
        return list(self._below[self.node(name)])

    def children(self, name: str) -> list[str]:
        """The nodes right below."""
        return [self.names[i] for i in np.flatnonzero(self.parents == self.node(name))]

    def siblings(self, name: str) -> list[str]:
        """The other nodes under the same parent."""
        node = self.node(name)
        if node == 0:
            return []
        return [self.names[i] for i in np.flatnonzero(self.parents == self.parents[node]) if i != node]

    def cover(self, words: Sequence[str]) -> Array:
        """A matrix (nodes, words): which nodes stand for which words; unknown ones under the root alone."""
        found = np.zeros((len(self), len(words)), bool)
        found[0] = True
        for j, word in enumerate(words):
            if word in self.words:
                found[self.path_numbers(self.words[word]), j] = True
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain data, from which ``from_dict`` makes the same taxonomy."""
        return {
            "names": self.names,
            "parents": self.parents.tolist(),
            "words": self.words,
            "sizes": self.sizes.tolist(),
            "aliases": self.aliases,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The taxonomy that ``to_dict`` wrote down."""
        return cls(data["names"], data["parents"], data["words"], data["sizes"], data.get("aliases"))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Taxonomy) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        lines = []

        def add(node: int, depth: int) -> None:
            lines.append("  " * depth + self.names[node])
            for child in np.flatnonzero(self.parents == node):
                add(int(child), depth + 1)

        add(0, 0)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Taxonomy({len(self)} nodes over {len(self.words)} words)"


def _plain(name: str) -> str:
    return name.replace("_", " ").casefold()


class _Builder:
    """Numbers the nodes of a tree from the root on, leaving out those that say nothing."""

    def __init__(
        self,
        children: Mapping[Hashable, Mapping[Hashable, None]],
        own: Mapping[Hashable, list[str]],
        labels: Mapping[Hashable, str],
        size: Callable[[Any], int] | None,
    ) -> None:
        self.children, self.own, self.labels, self.size = children, own, labels, size
        self.names: list[str] = []
        self.parents: list[int] = []
        self.words: dict[str, int] = {}
        self.sizes: list[int] = []
        self.aliases: dict[str, int] = {}

    def add(self, node: Hashable, parent: int, name: str | None = None) -> None:
        """Add a node and all below it, in the order of their names."""
        below: dict[Hashable, list[Hashable]] = {}
        for child in self.children.get(node, ()):
            kept, left_out = self._resolve(child)
            below[kept] = left_out
        number = len(self.names)
        self.names.append(self._unique(name or self._label(node)))
        self.parents.append(parent)
        known = self.size is not None and not isinstance(node, tuple)
        self.sizes.append(self.size(node) if self.size is not None and known else 1)
        for word in self.own.get(node, ()):
            self.words[word] = number
        for child in sorted(below, key=lambda c: (self._label(c), str(c))):
            self.aliases.update({self._label(n): len(self.names) for n in below[child]})
            self.add(child, number)
        # A root of our own making, or a word that the language has not, covers what lies below.
        below_sizes = [self.sizes[i] for i in range(number + 1, len(self.sizes)) if self.parents[i] == number]
        if not known:
            self.sizes[number] = 1 + sum(below_sizes)

    def _resolve(self, node: Hashable) -> tuple[Hashable, list[Hashable]]:
        """The first concept from here down that says something, and those before it that do not.

        What says something is a word, or has several children.
        """
        left_out = []
        while node not in self.own and len(self.children[node]) == 1:
            left_out.append(node)
            node = next(iter(self.children[node]))
        return node, left_out

    def _label(self, node: Hashable) -> str:
        if node in self.own:
            return self.own[node][0]
        return self.labels.get(node, str(node))

    def _unique(self, name: str) -> str:
        count, found = 2, name
        while found in self.names:
            found = f"{name} ({count})"
            count += 1
        return found
