"""The collection: all that is known of a set of images."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from lookalike.arrays import Bags
from lookalike.collection import _duplicates, _index, _labels, _schema, _search
from lookalike.collection._duplicates import Duplicates
from lookalike.collection._index import Indexer, IndexReport
from lookalike.collection._keys import hash_array, positions
from lookalike.collection._labels import Labels
from lookalike.collection._lock import Lock
from lookalike.collection._matrix import Matrix
from lookalike.collection._models import Models
from lookalike.collection._place import Place, find_place
from lookalike.collection._reader import Reader
from lookalike.collection._search import METRICS, Hit, Metric, View
from lookalike.collection._shards import FeatureColumn, Shards, feature_columns
from lookalike.collection._sources import Sources
from lookalike.collection._status import Status
from lookalike.collection._tables import SCHEMAS, Tables, quoted
from lookalike.errors import LookalikeError
from lookalike.features import Feature, get_feature
from lookalike.images import path_of, uri_of
from lookalike.parallel import Engine, LocalEngine
from lookalike.progress import Progress, silent

PathLike = str | os.PathLike[str]

FEW_IMAGES = 4096  # up to so many are asked for by name; for more the whole column is read once


class Collection:
    """Images, their features, labels and models, in a folder or an object store.

    Use :meth:`create`, :meth:`open`, :meth:`open_or_create` or :meth:`find`. A collection may be read by many
    while one process writes. Each call sees what was committed before it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ["red", "green", "blue"]:
    ...         Image.new("RGB", (32, 32), name).save(Path(folder, f"{name}.png"))
    ...     collection = Collection.create(folder)
    ...     report = collection.index([folder], features=["color-histogram"])
    ...     hits = collection.search(Path(folder, "red.png"), k=1, include_examples=True)
    ...     report.new, Path(hits[0].uri).name, round(hits[0].similarity, 3)
    (3, 'red.png', 1.0)
    """

    def __init__(self, place: Place, tables: Tables) -> None:
        self._place, self._tables = place, tables
        self._labels = Labels(tables, self._label_lock)
        self._models = Models(place)
        self._reader = Reader(place, tables)
        self._sources = Sources(tables, place.root)

    # ---- making and opening -------------------------------------------------------------------------

    @classmethod
    def create(cls, path: PathLike, *, storage_options: dict[str, str] | None = None) -> Collection:
        """Make an empty collection in a folder (its ``.lookalike``) or at an address like ``s3://…``."""
        place = Place.of(path)
        if place.exists:
            raise LookalikeError(
                f"there is a collection in {place} already: open it, or name another folder."
            )
        if place.root is not None and not place.root.is_dir():
            raise LookalikeError(f"{place.root} is not a folder: make it first.")
        if place.folder is not None:
            try:
                place.folder.mkdir(exist_ok=True)
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise LookalikeError(f"{place.folder} cannot be made: {reason}.") from None
        with cls._lock_of(place):
            tables = Tables(place.address, storage_options)
            if place.folder is None and _schema.is_there(tables):
                raise LookalikeError(f"there is a collection at {place} already: open it.")
            _schema.create(tables, place.root)
        return cls(place, tables)

    @classmethod
    def open(cls, path: PathLike, *, storage_options: dict[str, str] | None = None) -> Collection:
        """Open the collection of a folder, of a ``.lookalike`` itself, or at an address like ``s3://…``."""
        place = Place.of(path)
        missing = f"there is no collection in {place}: run '{place.to_index}' first."
        if place.exists is False:
            raise LookalikeError(missing)
        tables = Tables(place.address, storage_options)
        if not _schema.is_there(tables):
            raise LookalikeError(missing)
        version = _schema.version_of(tables, str(place))
        if version < _schema.VERSION:
            with cls._lock_of(place):
                _schema.migrate(tables, _schema.version_of(tables, str(place)))
        return cls(cls._at_home(place, tables), tables)

    @classmethod
    def _at_home(cls, place: Place, tables: Tables) -> Place:
        """The place by the name it knows itself; where the folder was moved, its images moved with it."""
        if place.root is None:
            return place
        if _schema.former_root(tables, place.root) is not None:
            with cls._lock_of(place):
                _schema.relocate(tables, place.root)
        return Place.of(_schema.recorded_root(tables, place.root))

    @classmethod
    def open_or_create(cls, path: PathLike, *, storage_options: dict[str, str] | None = None) -> Collection:
        """Open the collection of a folder or address, or make one where there is none."""
        place = Place.of(path)
        there = place.exists
        if there is None:
            there = _schema.is_there(Tables(place.address, storage_options))
        return (cls.open if there else cls.create)(path, storage_options=storage_options)

    @classmethod
    def find(cls, start: PathLike = ".") -> Collection:
        """Open the nearest collection in a folder or above it, as git finds its repository."""
        return cls.open(find_place(start).address)

    def __repr__(self) -> str:
        return f"Collection({str(self._place)!r})"

    @property
    def where(self) -> str:
        """The folder of the collection (the one that ``.lookalike`` lies in), or its address."""
        return str(self._place)

    @property
    def root(self) -> Path | None:
        """The folder that the collection lies in; None in an object store."""
        return self._place.root

    @staticmethod
    def _lock_of(place: Place) -> Lock:
        place.check_writable()
        return Lock(place.local / "lock", f"the collection in {place}")

    def _label_lock(self) -> AbstractContextManager[Any]:
        self._place.check_writable()
        return Lock(self._place.local / "labels.lock", f"the labels of {self._place}", wait=30.0)

    # ---- writing ------------------------------------------------------------------------------------

    def index(
        self,
        sources: Iterable[PathLike] | None = None,
        features: Iterable[str | Feature] | None = None,
        *,
        progress: Progress = silent,
        engine: Engine | None = None,
        batch_size: int | None = None,
        retry: bool = False,
    ) -> IndexReport:
        """Bring the collection up to date with its sources.

        Parameters
        ----------
        sources : paths, optional
            Folders, single files and lists of paths; None for those of earlier runs, and at first the folder
            of the collection. Images of other sources stay as they are.
        features : names or Feature, optional
            What each image should have; None for what the collection has, and at first the default.
        progress : callable
            Receives a step now and then; what it raises ends the run.
        engine : Engine, optional
            Who reads and computes; one thread for each core by default.
        batch_size : int, optional
            Images in one piece of work; what the features like best by default.
        retry : bool
            Read again also the files that were set aside and have not changed since.

        Returns
        -------
        report : IndexReport
            What was found and done. Ctrl-C writes what was computed and raises ``KeyboardInterrupt``.
        """
        wanted = self._wanted(features)
        with self._lock_of(self._place):
            uris = self._sources.of_run(sources)
            indexer = Indexer(
                self._tables,
                self._labels,
                wanted,
                progress=progress,
                engine=engine or LocalEngine(),
                batch_size=batch_size,
            )
            indexer.find([path_of(uri) for uri in uris])
            self._sources.remember(uris)
            return indexer.run(retry=retry)

    def _wanted(self, features: Iterable[str | Feature] | None) -> list[Feature]:
        if features is None:
            columns = feature_columns(self._tables)
            return [get_feature(c.name, **c.settings) for c in columns] or [get_feature()]
        made = [get_feature(one) if isinstance(one, str) else one for one in features]
        return list({feature.fingerprint: feature for feature in made}.values())

    def forget(self, source: PathLike) -> int:
        """Strike out a source of index runs, and with it the images that lie in no other; says how many.

        The labels of these images wait, as those of removed ones do, and their features are kept.
        """
        with self._lock_of(self._place):
            images = self._tables.read("images", ["uri", "hash"])
            mine = images.filter(pa.array(self._sources.only_of(source, images["uri"]), pa.bool_()))
            gone = dict(zip(mine["uri"].to_pylist(), mine["hash"].to_pylist()))
            _index.remove_images(self._tables, self._labels, gone)
            aside = self._tables.read("set_aside", ["uri"])["uri"]
            mine = aside.filter(pa.array(self._sources.only_of(source, aside), pa.bool_())).to_pylist()
            for part in _index.chunks(mine, _index.DELETE_ROWS):
                self._tables.delete("set_aside", f"uri IN {quoted(part)}")
            self._sources.drop(source)
            return len(gone)

    def tidy(self) -> None:
        """Join small files and remove old versions; index runs do this by themselves."""
        with self._lock_of(self._place):
            shards = [Shards(self._tables, column) for column in feature_columns(self._tables)]
            _index.tidy(self._tables, shards, self._labels)

    # ---- images and vectors -------------------------------------------------------------------------

    @property
    def sources(self) -> list[str]:
        """What index runs look through when they name nothing else."""
        return self._sources.known()

    @property
    def features(self) -> list[FeatureColumn]:
        """The features that were indexed, in the order in which they came."""
        return feature_columns(self._tables)

    def __len__(self) -> int:
        return self._tables.count("images")

    def images(
        self, columns: Sequence[str] | None = None, *, uris: Sequence[PathLike] | None = None
    ) -> pa.Table:
        """A table of the images in the order of their uris, or of some images in the order given.

        Its columns are ``uri``, ``hash``, ``size``, ``mtime_ns``, ``width``, ``height`` and ``format``.
        """
        names = list(columns or SCHEMAS["images"].names)
        if unknown := sorted(set(names) - set(SCHEMAS["images"].names)):
            raise ValueError(f"images have no column {unknown[0]!r}: {', '.join(SCHEMAS['images'].names)}.")
        if uris is None:
            rows = self._tables.read("images", list(dict.fromkeys([*names, "uri"])))
            return rows.sort_by("uri").select(names)
        return self._find_images(uris, names)

    def image_batches(
        self, columns: Sequence[str] | None = None, *, rows: int = 65_536
    ) -> Iterator[pa.RecordBatch]:
        """The same as a stream of batches, in no particular order."""
        yield from self._tables.batches("images", list(columns) if columns else None, rows=rows)

    def uri(self, image: PathLike) -> str:
        """How the collection calls an image; an error where it does not know it."""
        return self._known([image])[0]

    def _known(self, images: Sequence[PathLike]) -> list[str]:
        """The uris of images that are named by path or uri; one clear error where one is not known."""
        return self._find_images(images, ["uri"])["uri"].to_pylist()

    def _find_images(self, images: Sequence[PathLike], columns: list[str]) -> pa.Table:
        """Columns of some images, in their order."""
        uris = [text if "://" in (text := os.fspath(image)) else uri_of(text) for image in images]
        wanted = list(dict.fromkeys(uris))
        where = f"uri IN {quoted(wanted)}" if len(wanted) <= FEW_IMAGES else None
        names = list(dict.fromkeys([*columns, "uri"]))
        found = (
            self._tables.read("images", names, where=where)
            if wanted
            else SCHEMAS["images"].empty_table().select(names)
        )
        rows = pc.index_in(pa.array(uris, pa.string()), value_set=found["uri"].combine_chunks())
        if rows.null_count:
            unknown = [uri for uri, row in zip(uris, rows.to_pylist()) if row is None]
            more = f" (and {len(unknown) - 1} more)" if len(unknown) > 1 else ""
            raise LookalikeError(
                f"{unknown[0]}{more} is not in the collection {self._place}: index it first."
            )
        return found.take(rows).select(columns)

    def vectors(
        self, feature: str | Feature | None = None, uris: Sequence[PathLike] | None = None
    ) -> tuple[NDArray[np.object_], NDArray[np.float32]]:
        """The vectors of the images that have a feature.

        Parameters
        ----------
        feature : str or Feature, optional
            Its name, the feature itself, or None for the first that gives vectors.
        uris : paths or uris, optional
            Some images, in this order; None for all, in the order of their uris.

        Returns
        -------
        uris : array of str
            The images.
        X : array of shape (n, dim)
            A row for each; read-only and without a copy where the order is that on disk.
        """
        matrix, view = self._reader.matrix(self.column(feature, "vector"))
        if uris is None:
            return np.asarray(view.uris.to_numpy(zero_copy_only=False), object), matrix.take(view.rows)
        names = self._known(uris)
        rows = self._reader.positions(view, names, matrix.shards.column.name)
        return np.array(names, object), matrix.take(view.rows[rows])

    def vector_blocks(
        self, feature: str | Feature | None = None, block_rows: int = 4096
    ) -> Iterator[tuple[NDArray[np.object_], NDArray[np.float32]]]:
        """The same as a stream of blocks in the order of the tables, in memory for one block."""
        shards = Shards(self._tables, self.column(feature, "vector"))
        for uris, contents, batch in self._reader.blocks(shards, block_rows):
            yield uris, shards.vectors_of(batch)[contents]

    def bags(
        self, feature: str | Feature | None = None, uris: Sequence[PathLike] | None = None
    ) -> tuple[NDArray[np.object_], Bags]:
        """The bags of the images that have a feature, in the order of their uris or in the order given."""
        shards = Shards(self._tables, self.column(feature, "bag"))
        view = self._reader.view(shards.column, shards.hashes())
        where = np.arange(len(view.rows))
        if uris is not None:
            where = self._reader.positions(view, self._known(uris), shards.column.name)
        found = np.asarray(view.uris.to_numpy(zero_copy_only=False), object)[where]
        return found, self._reader.bags(shards, view, where)

    def bag_blocks(
        self, feature: str | Feature | None = None, block_rows: int = 256
    ) -> Iterator[tuple[NDArray[np.object_], Bags]]:
        """The same as a stream of blocks in the order of the tables, in memory for one block."""
        shards = Shards(self._tables, self.column(feature, "bag"))
        for uris, contents, batch in self._reader.blocks(shards, block_rows):
            yield uris, shards.bags_of(batch)[contents]

    def column(self, feature: str | Feature | None = None, kind: str | None = None) -> FeatureColumn:
        """What is written down of a feature of this collection; an error where it has not been indexed."""
        return self._reader.column(feature, kind)

    # ---- labels -------------------------------------------------------------------------------------

    def labels(self) -> pa.Table:
        """``uri``, ``label``, ``by`` and ``at`` of the labelled images, in the order of uri and label."""
        return self._labels.read()

    def set_labels(
        self,
        labels: Mapping[PathLike, str] | Iterable[tuple[PathLike, str]],
        *,
        by: str,
        add: bool = False,
    ) -> int:
        """Give labels to images.

        Parameters
        ----------
        labels : mapping or pairs
            Image (path or uri) and label.
        by : str
            Who says so: a person, "folders", a file.
        add : bool
            Put the labels beside those an image has; else they take their place.

        Returns
        -------
        n : int
            How many images were labelled.
        """
        pairs = list(labels.items() if isinstance(labels, Mapping) else labels)
        if not pairs:
            return 0
        names = [label.strip() for _, label in pairs]
        if "" in names:
            raise LookalikeError(
                f"{os.fspath(pairs[names.index('')][0])} has an empty label: give it a name."
            )
        images = self.images(["uri", "hash"], uris=[image for image, _ in pairs])
        uris = images["uri"].to_pylist()
        self._labels.put(uris, images["hash"].to_pylist(), names, by=by, add=add)
        return len(set(uris))

    def remove_labels(self, images: Iterable[PathLike], *, label: str | None = None) -> int:
        """Take one label (or all) away from images; says how many labels went."""
        return self._labels.remove(list(dict.fromkeys(self._known(list(images)))), label)

    def label_from_folders(self, root: PathLike | None = None, *, by: str = "folders") -> int:
        """Label images by the folder under ``root`` that they are in; says how many were labelled.

        ``root`` is the folder of the collection by default. Images that lie in it directly get no label.
        """
        folder = root if root is not None else self.root
        if folder is None:
            raise LookalikeError("name the folder whose sub-folders are the labels.")
        start = os.path.abspath(folder)  # noqa: PTH100  links keep their name
        pairs = []
        for uri in self.images(["uri"])["uri"].to_pylist():
            inside = Path(os.path.relpath(path_of(uri), start)).parts
            if inside[0] != os.pardir and len(inside) > 1:
                pairs.append((uri, os.fsencode(inside[0]).decode("utf-8", "backslashreplace")))
        if not pairs:
            raise LookalikeError(
                f"no image of the collection is in a sub-folder of {start}: nothing to label."
            )
        return self.set_labels(pairs, by=by)

    def import_labels(self, path: PathLike, *, by: str | None = None, add: bool = False) -> int:
        """Read labels from a CSV file with the columns ``path`` and ``label``; says how many there were."""
        pairs = _labels.read_csv(path)
        return self.set_labels(pairs, by=by or Path(path).name, add=add)

    def export_labels(self, path: PathLike) -> int:
        """Write all labels to a CSV file with the columns ``path`` and ``label``; says how many."""
        rows = self.labels()
        return _labels.write_csv(path, zip(rows["uri"].to_pylist(), rows["label"].to_pylist()))

    # ---- answers ------------------------------------------------------------------------------------

    def search(
        self,
        query: ArrayLike | PathLike | Sequence[PathLike],
        *,
        not_: ArrayLike | PathLike | Sequence[PathLike] | None = None,
        k: int = 10,
        feature: str | Feature | None = None,
        metric: Metric = "cosine",
        include_examples: bool = False,
    ) -> list[Hit]:
        """The images most similar to one or several examples; exact.

        Parameters
        ----------
        query : vector, vectors, or images of the collection
            What is wanted; with several the mean of the similarities to them counts.
        not_ : the same, optional
            What is not wanted: half the mean similarity to these is taken off.
        k : int
            How many images.
        feature : str or Feature, optional
            What is compared; the first feature that gives vectors by default.
        metric : {"cosine", "euclidean"}
            The similarity: the cosine, or ``1 / (1 + distance)``.
        include_examples : bool
            Whether examples of the collection may be among the hits.

        Returns
        -------
        hits : list of Hit
            The best first; equal ones in the order of their uris.
        """
        if metric not in METRICS:
            raise ValueError(f"metric must be one of {', '.join(METRICS)}, but is {metric!r}.")
        if k < 1:
            raise ValueError(f"k must be at least 1, but is {k}.")
        matrix, view = self._reader.matrix(self.column(feature, "vector"))
        wanted, own = self._examples(query, matrix, view, "the query")
        unwanted, against = (None, own[:0]) if not_ is None else self._examples(not_, matrix, view, "not_")
        without = np.zeros(0, np.int64) if include_examples else np.union1d(own, against)
        return _search.search(matrix, view, wanted, unwanted, k=k, metric=metric, without=without)

    def _examples(
        self, given: Any, matrix: Matrix, view: View, what: str
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Vectors of examples, and their positions in the view where they are images of it."""
        if isinstance(given, str | os.PathLike):
            given = [given]
        if isinstance(given, Sequence) and len(given) and isinstance(given[0], str | os.PathLike):
            where = self._reader.positions(view, self._known(given), matrix.shards.column.name)
            return matrix.take(view.rows[where]), where
        queries = _search.as_queries(given, matrix.dim, what)
        if not len(queries):
            raise ValueError(f"{what} holds no example.")
        return queries, np.zeros(0, np.int64)

    def duplicates(
        self,
        threshold: float | None = None,
        *,
        near: bool = True,
        feature: str | Feature | None = None,
        progress: Progress = silent,
    ) -> Duplicates:
        """Groups of images that are the same or nearly the same.

        Parameters
        ----------
        threshold : float, optional
            The cosine of their vectors from which on two contents count as nearly the same.
        near : bool
            Whether to look for such at all; False compares contents alone and needs no feature.
        feature : str or Feature, optional
            What is compared; the first feature that gives vectors by default.
        progress : callable
            Receives a step for each pair of blocks.
        """
        if not near:
            images = self.images(["uri", "hash"])
            _, contents = np.unique(hash_array(images["hash"]), return_inverse=True)
            none = np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32)
            return Duplicates(
                _duplicates.groups_of(images["uri"].combine_chunks(), contents, none), None, None
            )
        matrix, view = self._reader.matrix(self.column(feature, "vector"))
        if threshold is None:
            threshold = _duplicates.default_threshold(matrix, view.rows)
        if not -1 <= threshold <= 1:
            raise ValueError(f"threshold is a cosine from -1 to 1, but is {threshold}.")
        rows, contents = np.unique(view.rows, return_inverse=True)
        links = _duplicates.similar_pairs(matrix, rows, threshold, progress=progress)
        groups = _duplicates.groups_of(view.uris, contents, links)
        return Duplicates(groups, threshold, matrix.shards.column.name)

    # ---- the rest -----------------------------------------------------------------------------------

    @property
    def models(self) -> Models:
        """The models of the collection, by name."""
        return self._models

    def set_aside(self) -> pa.Table:
        """``uri``, ``reason`` and ``at`` of the files that cannot be read, in the order of their uris."""
        return self._tables.read("set_aside", ["uri", "reason", "at"]).sort_by("uri")

    def status(self) -> Status:
        """Counts, features, labels, models, what was set aside and why, and the size on disk."""
        images = self._tables.read("images", ["hash"])
        hashes = np.unique(hash_array(images["hash"]))
        labels = self._labels.read()
        counts = labels.group_by("label").aggregate([("uri", "count")]).sort_by("label").to_pydict()
        aside = self.set_aside()
        columns = feature_columns(self._tables)
        return Status(
            where=self.where,
            schema=_schema.VERSION,
            indexed=images.num_rows,
            contents=len(hashes),
            labelled=pc.count_distinct(labels["uri"]).as_py(),
            labels=dict(zip(counts["label"], counts["uri_count"])),
            features=[self._feature_status(column, hashes) for column in columns],
            models=self._models.names(),
            set_aside=aside.num_rows,
            set_aside_files=aside.select(["uri", "reason"]).to_pylist(),
            sources=self.sources,
            bytes_on_disk=_bytes_under(self._place.folder),
        )

    def _feature_status(self, column: FeatureColumn, hashes: NDArray[np.bytes_]) -> dict[str, Any]:
        there = Shards(self._tables, column).hashes()
        return {
            "name": column.name,
            "kind": column.kind,
            "dim": column.dim,
            "fingerprint": column.fingerprint,
            "settings": column.settings,
            "contents": int((positions(hashes, there) >= 0).sum()),
        }


def _bytes_under(folder: Path | None) -> int | None:
    if folder is None:
        return None
    total = 0
    for here, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(here) / name).lstat().st_size
            except OSError:  # a writer removed it meanwhile
                continue
    return total
