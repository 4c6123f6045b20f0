"""Index runs against a literal model: dictionaries of what a user would say has happened."""

import os
import shutil
from collections import Counter
from pathlib import Path
from tempfile import mkdtemp
from unittest import mock

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests_of_collection import Mean, Pixels, png

from lookalike.collection import Collection
from lookalike.collection import _labels as labels_module

NAMES = ["1.png", "2.png", "a/1.png", "a/2.png", "b/1.png"]
CONTENTS = st.integers(0, 3)  # few, so that copies and returns are frequent; 0 stands for a broken file
CHANGES = st.tuples(
    st.sampled_from(["write", "move", "copy", "delete"]), st.sampled_from(NAMES), st.integers(0, 20), CONTENTS
)


class Model:
    """What a collection should know: images and labels by name, labels that wait for their content."""

    def __init__(self):
        self.images = {}  # name → content
        self.labels = {}  # name → set of labels
        self.waiting = {}  # (name, content at the time) → set of labels
        self.computed = set()

    def index(self, files):
        """What a run should report and leave, given the files there are: name → content."""
        report = Counter()
        good = {name: content for name, content in files.items() if content}
        report["set_aside"] = len(files) - len(good)
        gone = sorted(name for name in self.images if name not in files)
        broken = [name for name in self.images if name in files and not files[name]]
        report["computed"] = len(set(good.values()) - self.computed)
        self.computed |= set(good.values())

        taken, returned = {}, []
        for name in in_order(good):
            content = good[name]
            if name in self.images:
                report["unchanged" if self.images[name] == content else "changed"] += 1
                continue
            origin = next((old for old in gone if self.images[old] == content and old not in taken), None)
            report["new" if origin is None else "moved"] += 1
            if origin is not None:
                taken[origin] = name
            elif any(content == there for _, there in self.waiting):
                returned.append((name, content))
        report["removed"] = len(gone) - len(taken)

        moved = {new: self.labels.pop(old) for old, new in taken.items() if old in self.labels}
        back = self._back(returned)
        for name in [*broken, *gone]:
            if labels := self.labels.pop(name, None):
                self._wait(name, self.images[name], labels)
        self.labels |= moved | back
        self.images = good
        return report

    def _wait(self, name, content, labels):
        self.waiting[name, content] = labels | self.waiting.get((name, content), set())

    def _back(self, returned):
        back = {}
        rest = []
        for name, content in sorted(returned):
            if (name, content) in self.waiting:
                back[name] = self.waiting.pop((name, content))
            else:
                rest.append((name, content))
        for name, content in rest:
            origins = sorted(old for old, there in self.waiting if there == content)
            if origins:
                back[name] = self.waiting.pop((origins[0], content))
        return back


def in_order(files):
    """Names as a walk gives them: the files of a folder before those of its sub-folders."""
    return sorted(files, key=lambda name: ("/" in name, name))


class Folders(RuleBasedStateMachine):
    """A user who adds, edits, copies, moves, deletes and breaks files, labels them, and indexes."""

    @initialize()
    def start(self):
        Mean.computed = 0
        self.home = Path(mkdtemp())
        self.collection = Collection.create(self.home)
        self.model = Model()
        self.files = {}
        self.clock = 10**18

    def write(self, name, content):
        path = self.home / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(png(content) if content else b"no picture")
        self.files[name] = content
        self.touch(name)

    def touch(self, name):
        """Each change has a time of its own: two within one tick of a clock cannot be told apart."""
        self.clock += 1000
        os.utime(self.home / name, ns=(self.clock, self.clock))

    @rule(changes=st.lists(CHANGES, min_size=1, max_size=4), fresh=st.booleans(), again=st.booleans())
    def change_and_index(self, changes, fresh, again):
        for kind, name, other, content in changes:
            there = sorted(self.files)
            source = there[other % len(there)] if there else name
            if kind == "write" or not there:
                self.write(name, content)
            elif kind == "delete":
                self.delete(source)
            elif source != name:
                self.copy(source, name)
                if kind == "move":
                    self.delete(source)
        self.index(fresh, again)

    def copy(self, name, to):
        (self.home / to).parent.mkdir(exist_ok=True)
        shutil.copyfile(self.home / name, self.home / to)
        self.files[to] = self.files[name]
        self.touch(to)

    def delete(self, name):
        (self.home / name).unlink()
        del self.files[name]

    @precondition(lambda self: self.model.images)
    @rule(pick=st.integers(0, 20), label=st.sampled_from(["x", "y"]), add=st.booleans())
    def label(self, pick, label, add):
        there = sorted(self.model.images)
        name = there[pick % len(there)]
        self.collection.set_labels({str(self.home / name): label}, by="me", add=add)
        self.model.labels[name] = ({label} | self.model.labels.get(name, set())) if add else {label}

    @precondition(lambda self: len(self.model.images) > 1)
    @rule(number=st.integers(1, 4))
    def label_several(self, number):
        """So many that the whole table is written."""
        there = sorted(self.model.images)[:number]
        with mock.patch.object(labels_module, "FEW", 0):
            self.collection.set_labels([(str(self.home / name), "z") for name in there], by="many")
        self.model.labels |= {name: {"z"} for name in there}

    @precondition(lambda self: self.model.labels)
    @rule(pick=st.integers(0, 20))
    def unlabel(self, pick):
        there = sorted(self.model.labels)
        name = there[pick % len(there)]
        gone = self.collection.remove_labels([self.home / name])
        assert gone == len(self.model.labels.pop(name))

    def index(self, fresh, again):
        before = Mean.computed
        expected = self.model.index(self.files)
        if fresh:
            self.collection = Collection.open(self.home)
        report = self.collection.index([self.home], features=[Mean(), Pixels()], batch_size=2)
        fields = ("new", "changed", "moved", "removed", "unchanged", "set_aside", "computed")
        assert {field: getattr(report, field) for field in fields} == {
            field: expected[field] for field in fields
        }
        assert Mean.computed - before == expected["computed"]
        assert report.found == len(self.files)
        self.compare()
        if again:
            again = self.collection.index(features=[Mean(), Pixels()])
            assert (again.unchanged, again.set_aside) == (report.found - report.set_aside, report.set_aside)
            assert again.found == report.found and not again.removed and not again.computed

    def compare(self):
        aside = {self.name(uri) for uri in self.collection.set_aside()["uri"].to_pylist()}
        assert aside == {name for name, content in self.files.items() if not content}
        images = self.collection.images(["uri", "hash"]).to_pylist()
        assert {self.name(row["uri"]) for row in images} == set(self.model.images)
        uris, X = self.collection.vectors("mean")
        assert {self.name(uri): row[0] for uri, row in zip(uris, X)} == self.model.images
        uris, bags = self.collection.bags("pixels")
        assert {self.name(uri): len(bag) for uri, bag in zip(uris, bags)} == self.model.images
        assert np.array_equal(uris, sorted(uris))

    @invariant()
    def labels_are_those_of_the_model(self):
        if not hasattr(self, "collection"):
            return
        found = {}
        for row in self.collection.labels().to_pylist():
            found.setdefault(self.name(row["uri"]), set()).add(row["label"])
        assert found == self.model.labels

    def name(self, uri):
        return Path(uri).relative_to(self.home).as_posix()

    def teardown(self):
        shutil.rmtree(self.home, ignore_errors=True)


TestFolders = Folders.TestCase
TestFolders.settings = settings(max_examples=20, stateful_step_count=12, deadline=None)
