"""Words under a hierarchy, and feedback in rounds, on three sets of pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.reproduction.discriminants_data import CLASS_WORDS, SENSES, pictures
from sklearn.decomposition import PCA
from sklearn.svm import SVC

from lookalike.evaluate import annotation_scores, hierarchical_scores
from lookalike.learn import (
    FrequentWords,
    HierarchicalEnsemble,
    KernelCCA,
    LatentSemanticIndex,
    MaxWinsEnsemble,
    OnePerClassEnsemble,
    RelevanceFeedback,
    Taxonomy,
    TranslationModel,
)
from lookalike.learn._words._calibrated import default_estimator

FOLDS = 10  # of the scores that sigmoids are fitted to, as in the thesis
SETS = ("corel1k", "flowers17", "scene15")


def word_data(data: Path) -> tuple[Any, Any, Any, Any, Taxonomy]:
    """Twenty training and twenty test pictures of each of 42 classes, in 64 principal directions."""
    x, y, xt, yt = [], [], [], []
    for name in SETS:
        p = pictures(data, name, "efficientnet-lite0")
        for c in np.unique(p.y):
            rows = np.random.default_rng(int(c)).permutation(np.flatnonzero(p.y == c))
            for part, xs, ys in ((rows[:20], x, y), (rows[20:40], xt, yt)):
                xs += [p.x[i] for i in part]
                ys += [[*p.words[i], *(["flower"] if name == "flowers17" else [])] for i in part]
    pca = PCA(64, random_state=0).fit(np.array(x))
    vocabulary = sorted({w for words in y for w in words})
    senses = {w: s for w, s in SENSES.items() if w in vocabulary}
    tree = Taxonomy.from_wordnet(vocabulary, senses=senses)
    assert set(CLASS_WORDS) == set(SETS)
    return pca.transform(np.array(x)), y, pca.transform(np.array(xt)), yt, tree


def measured(said: list[list[str]], true: list[list[str]], tree: Taxonomy) -> dict[str, float]:
    plain = annotation_scores(said, true, taxonomy=tree)
    kin = annotation_scores(said, true, taxonomy=tree, siblings=True)
    above = hierarchical_scores(said, true, tree)
    return {
        "recall": plain.recall,
        "precision": plain.precision,
        "recall_s": kin.recall,
        "precision_s": kin.precision,
        "h_recall": above.recall,
        "h_precision": above.precision,
        "words": float(np.mean([len(s) for s in said])),
        "silent": float(np.mean([not s for s in said])),
    }


def bases() -> dict[str, Any]:
    return {
        "DDA": default_estimator(),
        "SVM linear": SVC(kernel="linear", C=1.0),
        "SVM gaussian": SVC(C=10.0),
    }


def words(data: Path, base: str, part: str) -> dict[str, Any]:
    """Ensembles with one base classifier: the hierarchy, or one per class and votes."""
    x, y, xt, yt, tree = word_data(data)
    made = bases()[base]
    result: dict[str, Any] = {
        "nodes": len(tree),
        "vocabulary": len(tree.words),
        "train": len(x),
        "test": len(xt),
    }

    def top(model: Any) -> list[list[str]]:
        return [[w.name for w in row] for row in model.annotate(xt, top=5)]

    if part in ("global", "parent"):
        model = HierarchicalEnsemble(tree, made, negatives=part, folds=FOLDS).fit(x, y)
        # A concept with a word's name and the word are one; the answer says the concept's name.
        result[f"HSE {part}, top 5"] = measured(top(model), yt, tree)
        result[f"HSE {part}, cut"] = measured(model.predict(xt), yt, tree)
        pruned = [[w.name for w in row] for row in model.describe(xt, prune=True)]
        result[f"HSE {part}, cut, most specific"] = measured(pruned, yt, tree)
        # What the command "tag" says: of the concepts of probability 0.5 and more, the most specific.
        safe = [[w.name for w in row] for row in model.describe(xt, prune=True, at_least=0.5)]
        result[f"HSE {part}, p > 0.5, most specific"] = measured(safe, yt, tree)
        return result
    result["Frequent words"] = measured(top(FrequentWords().fit(x, y)), yt, tree)
    each = OnePerClassEnsemble(made, folds=FOLDS).fit(x, y)
    result["One per class, top 5"] = measured(top(each), yt, tree)
    p = each.word_probabilities(xt)
    sure = [[each.words_[j] for j in np.flatnonzero(row > 0.5)] for row in p]
    result["One per class, p > 0.5"] = measured(sure, yt, tree)
    result["Max wins, top 5"] = measured(top(MaxWinsEnsemble(made).fit(x, y)), yt, tree)
    return result


def modes(data: Path) -> dict[str, Any]:
    """Words by models of both modes: top five, and mean average precision of one-word searches."""
    x, y, xt, yt, tree = word_data(data)
    result = {}
    for title, model in {
        "latent semantic indexing": LatentSemanticIndex(60, folds=None),
        "kernel CCA": KernelCCA(40, folds=None),
        "translation model (whole pictures)": TranslationModel(150),
    }.items():
        model.fit(x, y)
        said = [
            [model.words_[j] for j in np.argsort(-row, kind="stable")[:5]] for row in model.word_scores(xt)
        ]
        precisions = []
        for word in model.words_:
            hits = np.array([word in words for words in yt])
            if hits.any():
                order = np.argsort(-model.query_scores([word], xt), kind="stable")
                found = np.flatnonzero(hits[order])
                precisions.append(float(np.mean(np.arange(1, len(found) + 1) / (found + 1))))
        result[title] = {**measured(said, yt, tree), "map": float(np.mean(precisions))}
    return result


# --- feedback ---

STRATEGIES = (
    *((strategy, "best") for strategy in ("rocchio", "biasmap", "discriminant", "gaussian", "svm")),
    ("svm", "uncertain"),
    *(("discriminant", by) for by in ("diverse", "ranked", "committee")),
)
QUERIES = 50


def feedback(data: Path, name: str, feature: str, strategy: str, by: str) -> dict[str, Any]:
    """Mean precision at 20 after rounds of five simulated judgements on the best unmarked results.

    The query itself is left out. Pictures marked relevant are listed first, as a user sees them; and the
    same without any marked picture, which is harder in every round.
    """
    p = pictures(data, name, feature)
    seen, rest = np.zeros((2, QUERIES, 6))
    for q, query in enumerate(np.random.default_rng(0).choice(len(p.y), QUERIES, replace=False)):
        session = RelevanceFeedback(p.x, query=int(query), strategy=strategy)
        for r in range(6):
            if r:
                asked = session.ask(5, by=by)
                good = [i for i in asked if p.y[i] == p.y[query]]
                session.mark(relevant=good, irrelevant=[i for i in asked if p.y[i] != p.y[query]])
            found = [f.picture for f in session.results(21)][1:]
            seen[q, r] = np.mean(p.y[found] == p.y[query])
            found = [f.picture for f in session.results(20, marked=False)]
            rest[q, r] = np.mean(p.y[found] == p.y[query])
    return {"seen": seen.mean(axis=0).tolist(), "rest": rest.mean(axis=0).tolist()}


PARTS: dict[str, Callable[[Path], dict[str, Any]]] = {
    **{
        f"words-{b}-{part}": (lambda d, b=b, part=part: words(d, b, part))
        for b in ("DDA", "SVM linear", "SVM gaussian")
        for part in ("global", "parent", "flat")
    },
    "modes": modes,
    **{
        f"feedback-{n}-{f}-{s}-{by}": (lambda d, n=n, f=f, s=s, by=by: feedback(d, n, f, s, by))
        for n in ("corel1k", "flowers17")
        for f in ("efficientnet-lite0", "color-texture")
        for s, by in STRATEGIES
    },
}
