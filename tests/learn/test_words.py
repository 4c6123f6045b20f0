"""Taxonomies, sigmoids, and the ensembles that give words."""

import shutil
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

from lookalike.errors import LookalikeError
from lookalike.learn import (
    FrequentWords,
    HierarchicalEnsemble,
    MaxWinsEnsemble,
    OnePerClassEnsemble,
    Taxonomy,
)
from lookalike.learn._words._calibrated import fit_calibrated
from lookalike.learn._words._hierarchical import specificity
from lookalike.learn._words._sigmoid import fit_sigmoid, negative_log_likelihood, sigmoid
from lookalike.learn._words._wordnet import WordNet, find_wordnet

# The chains of the thesis's example, figure 4.2, from a stub lexicon.
CHAINS = {
    "sky": "entity sky",
    "tree": "entity object organism plant vascular_plant woody_plant tree",
    "flower": "entity object organism plant vascular_plant spermatophyte flower",
    "grass": "entity object organism plant vascular_plant herb grass",
    "rock": "entity object natural_object rock",
    "beach": "entity object natural_object geological_formation shore beach",
    "mountain": "entity object natural_object geological_formation elevation mountain",
}


def example(words=CHAINS, order=1):
    return Taxonomy.from_paths({w: CHAINS[w].split() for w in list(words)[::order]})


@pytest.fixture(scope="module")
def wordnet():
    try:
        find_wordnet()
    except LookalikeError as error:
        pytest.skip(str(error))
    return WordNet()


# --- T16: the hierarchy ---


def test_the_hierarchy_of_twelve_nodes():
    tree = example()
    assert len(tree) == 12
    assert tree.children("entity") == ["object", "sky"]
    assert tree.children("object") == ["natural_object", "vascular_plant"]
    assert tree.children("vascular_plant") == ["flower", "grass", "tree"]
    assert tree.children("natural_object") == ["geological_formation", "rock"]
    assert tree.children("geological_formation") == ["beach", "mountain"]


def test_every_tree_is_pruned_and_consistent():
    tree = example()
    assert tree.words_below("entity") == sorted(CHAINS)
    for name in tree.names:
        children = tree.children(name)
        if name not in tree.words:
            assert len(children) >= 2
        below = [set(tree.words_below(c)) for c in children]
        assert sum(map(len, below)) == len(set().union(*below)) if below else True
    assert example(order=-1) == tree


def test_a_word_above_another_word_stays_and_counts_itself():
    tree = Taxonomy.from_paths({"plant": ["entity", "plant"], "oak": ["entity", "plant", "tree", "oak"]})
    assert tree.words_below("plant") == ["oak", "plant"]
    assert tree.path("oak") == ["entity", "plant", "oak"]


def test_unknown_words_hang_under_the_root():
    tree = Taxonomy.from_paths({**{w: c.split() for w, c in CHAINS.items()}, "zork": []})
    assert "zork" in tree.children(tree.names[0])


def test_edges_folders_and_plain_data():
    tree = Taxonomy.from_edges([("thing", "plant"), ("plant", "oak"), ("plant", "elm"), ("thing", "sky")])
    assert Taxonomy.from_dict(tree.to_dict()) == tree
    assert tree.siblings("oak") == ["elm"]
    assert tree.siblings("thing") == []
    folders = Taxonomy.from_folders(["plants/oak", "plants/elm", "sky"])
    assert folders.path("elm") == ["everything", "plants", "elm"]
    assert Taxonomy.flat("ab").children("entity") == ["a", "b"]
    assert tree.find("Oaks") == tree.node("oak")
    assert folders.names[folders.find("PLANTS")] == "plants"
    assert tree.find("cat") is None
    assert repr(tree) == "Taxonomy(5 nodes over 3 words)"
    assert tree.sizes.tolist() == [5, 3, 1, 1, 1]
    with pytest.raises(ValueError, match="two parents"):
        Taxonomy.from_edges([("a", "x"), ("b", "x")])
    with pytest.raises(ValueError, match="lies above itself"):
        Taxonomy.from_edges([("a", "b"), ("b", "a"), ("b", "c")])
    with pytest.raises(ValueError, match="occurs in two places"):
        Taxonomy.from_folders(["a/x", "b/x"])
    with pytest.raises(KeyError, match="neither"):
        tree.node("zork")


def test_wordnet_from_its_files(tmp_path, wordnet):
    pond = wordnet.senses("pond")[0]
    assert 1 + wordnet.n_hyponyms(pond) == 7  # the count that the thesis gives
    assert wordnet.name(wordnet.path(pond)[0]) == "entity"
    assert wordnet.lemma("mice") == "mouse"
    assert wordnet.lemma("beaches") == "beach"
    assert wordnet.senses("qwertyuiop") == []
    with pytest.raises(LookalikeError, match="no WordNet in"):
        find_wordnet(tmp_path)


@pytest.fixture(scope="module")
def nltk_wordnet(wordnet, tmp_path_factory):
    """nltk's reader over a copy of the same files, with what it asks for and Debian leaves out."""
    nltk = pytest.importorskip("nltk")
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    place = tmp_path_factory.mktemp("nltk") / "corpora" / "wordnet"
    place.mkdir(parents=True)
    for file in find_wordnet().iterdir():
        if file.is_file() and file.suffix:
            shutil.copy(file, place)
    (place / "lexnames").write_text("".join(f"{i:02d}\tcategory{i}\t1\n" for i in range(45)), "utf-8")
    (place / "index.sense").touch()
    nltk.data.path.append(str(place.parents[1]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it misses other languages
            yield WordNetCorpusReader(nltk.data.find("corpora/wordnet"), None)
    finally:
        nltk.data.path.remove(str(place.parents[1]))


def test_our_reader_agrees_with_nltk(wordnet, nltk_wordnet):
    nouns = "beach mountain dog bank sky room street flower iris pond mouse lily_of_the_valley person London"
    for noun in nouns.split():
        theirs = nltk_wordnet.synsets(noun, "n")
        assert wordnet.senses(noun) == [s.offset() for s in theirs]
        for sense in theirs:
            # Of several hypernyms ours is the first in WordNet's own order, which nltk does not keep.
            chains = [[s.offset() for s in chain] for chain in sense.hypernym_paths()]
            assert wordnet.path(sense.offset()) in chains
        below = {s.offset() for s in theirs[0].closure(lambda s: s.hyponyms())}
        assert wordnet.n_hyponyms(theirs[0].offset()) == len(below)
    for plural in ("mice", "beaches", "cities", "women", "boxes"):
        assert wordnet.lemma(plural) == nltk_wordnet.morphy(plural, "n")


def test_a_taxonomy_from_wordnet(wordnet):
    tree = Taxonomy.from_wordnet(["trees", "grass", "beach", "mountain", "zork"])
    assert tree.path("trees")[-2] == "vascular plant"
    assert tree.path("beach")[-2] == "geological formation"
    assert "zork" in tree.children("entity")
    assert tree.names[tree.find("Mountains")] == "mountain"
    shore = Taxonomy.from_wordnet(["beach", "dog", "cat"])
    assert shore.names[shore.find("animal")] == "carnivore"  # left out, as it would have one child
    assert shore.names[shore.find("geological formation")] == "beach"
    assert Taxonomy.from_dict(shore.to_dict()).find("animals") == shore.find("carnivore")
    chance = tree.sizes[tree.path_numbers(tree.node("beach"))]
    assert np.all(np.diff(chance) < 0)
    moved = Taxonomy.from_wordnet(["bank", "river", "money"], senses={"bank": "bank#2"})
    assert moved.path("bank") != Taxonomy.from_wordnet(["bank", "river", "money"]).path("bank")
    with pytest.raises(ValueError, match="no sense 99"):
        Taxonomy.from_wordnet(["bank"], senses={"bank": "bank#99"})


# --- specificity ---


def test_specificity_sums_to_one_and_leaves_say_most():
    tree = example()
    words = sorted(CHAINS)
    counts = np.arange(1, 8)
    cover = tree.cover(words)
    assert cover[0].all()
    sizes = tree.sizes
    found = specificity(cover, counts, sizes, sizes[[tree.words[w] for w in words]])
    assert found.sum() == pytest.approx(1.0)
    prior = cover @ counts / counts.sum()
    assert prior[0] == 1.0
    for name in tree.names:
        children = [tree.node(c) for c in tree.children(name)]
        if children and name not in tree.words:
            assert prior[tree.node(name)] == pytest.approx(prior[children].sum())
    chance = found / prior
    for node in range(1, len(tree)):
        assert chance[tree.parents[node]] <= chance[node] + 1e-12


# --- T17: the sigmoid ---


@given(st.integers(0, 10**6))
def test_the_sigmoid_finds_known_parameters(seed):
    rng = np.random.default_rng(seed)
    f = rng.normal(size=20_000)
    a, b = rng.uniform(-4, -0.5), rng.uniform(-1, 1)
    found = fit_sigmoid(f, rng.random(len(f)) < sigmoid(f, a, b))
    assert found[0] == pytest.approx(a, abs=0.35)
    assert found[1] == pytest.approx(b, abs=0.2)
    assert np.all(np.diff(found[2]) <= 1e-9)


def test_separable_scores_stay_finite_and_means_agree():
    f = np.r_[np.linspace(-2, -1, 20), np.linspace(1, 2, 10)]
    t = f > 0
    a, b, _ = fit_sigmoid(f, t)
    assert -20 < a < 0
    smooth = np.where(t, 11 / 12, 1 / 22)
    assert sigmoid(f, a, b).mean() == pytest.approx(smooth.mean(), abs=1e-4)
    rough = fit_sigmoid(f, t, smooth=False)
    assert np.isfinite(rough[:2]).all()
    assert negative_log_likelihood(f, t.astype(float), *rough[:2]) < 1e-2


def test_scores_that_point_the_wrong_way_give_the_base_rate():
    f = np.linspace(-1, 1, 40)
    a, b, _ = fit_sigmoid(-f, f > 0.5)
    assert a == 0.0
    assert sigmoid(0.0, a, b) == pytest.approx(np.where(f > 0.5, 11 / 12, 1 / 32).mean())


def test_nodes_without_a_problem_are_constant():
    X = np.zeros((5, 1))
    for positive, rate in ((np.zeros(5, bool), 1 / 7), (np.arange(5) < 1, 0.2), (np.ones(5, bool), 6 / 7)):
        c = fit_calibrated(LogisticRegression(), X, positive, folds=3, smooth=True, seed=0)
        np.testing.assert_allclose(c.probabilities(X), rate)


# --- the ensembles ---


def pictures(n=40, seed=0):
    rng = np.random.default_rng(seed)
    centre = {w: 6 * rng.normal(size=6) for w in CHAINS}
    words = list(CHAINS)
    labels = [[words[i % 7]] + ([words[(3 * i + 1) % 7]] if i % 5 == 0 else []) for i in range(n)]
    X = np.array([np.mean([centre[w] for w in label], axis=0) for label in labels])
    return X + 0.3 * rng.normal(size=X.shape), labels


@pytest.mark.parametrize("negatives", ["global", "parent"])
def test_the_posterior_is_the_product_along_the_path(negatives):
    X, labels = pictures(84)
    model = HierarchicalEnsemble(example(), LogisticRegression(), negatives=negatives, folds=3).fit(X, labels)
    own, path = model.node_probabilities(X), np.exp(model.log_posterior(X))
    assert np.all((own >= 0) & (own <= 1))
    assert np.all(own[:, 0] == 1)
    tree = example()
    for j, name in enumerate(model.concepts_):
        chain = [model.concepts_.index(n) for n in tree.path(name)]
        np.testing.assert_allclose(path[:, j], own[:, chain].prod(axis=1))
        if j:
            assert np.all(path[:, j] <= path[:, chain[-2]] + 1e-15)
    best = [words[0].name for words in model.annotate(X, top=1)]
    assert np.mean([b in label for b, label in zip(best, labels)]) > 0.8


def test_the_cut_leaves_the_root_out_and_may_say_nothing():
    X, labels = pictures(84)
    model = HierarchicalEnsemble(example(), LogisticRegression(), folds=3).fit(X, labels)
    for words, relevance in zip(model.describe(X), model.log_relevance(X)):
        scores = [w.score for w in words]
        assert all(s > relevance[0] for s in scores)
        assert scores == sorted(scores, reverse=True)
        assert "entity" not in [w.name for w in words]
        assert len(words) == (relevance > relevance[0]).sum()
    for words in model.describe(X, at_least=0.5):
        assert all(w.probability >= 0.5 and w.name != "entity" for w in words)
    model.specificity_ = np.where(np.arange(12) == 0, 1.0, 1e-12)
    assert model.predict(X[:3]) == [[], [], []]


def test_the_worked_example_is_cut_after_rank_five():
    """Table 4.1: the values of -log2 relevance."""
    names = "entity sky object vascular_plant natural_object tree flower grass rock "
    names = (names + "geological_formation beach mountain").split()
    values = [17.26, 7.46, 17.87, 8.44, 19.42, 5.41, 12.64, 9.84, 21.00, 44.32, 56.35, 55.97]
    table = dict(zip(names, values))
    X, labels = pictures(84)
    model = HierarchicalEnsemble(example(), LogisticRegression(), folds=3).fit(X, labels)
    model.specificity_ = np.ones(12)
    model.log_posterior = lambda X: -np.log(2) * np.array([[table[c] for c in model.concepts_]])
    said = [w.name for w in model.describe(None)[0]]
    assert said == ["tree", "sky", "vascular_plant", "grass", "flower"]
    pruned = [w.name for w in model.describe(None, prune=True)[0]]
    assert pruned == ["tree", "sky", "grass", "flower"]


def test_a_flat_taxonomy_ranks_nearly_as_one_per_class():
    X, labels = pictures(84)
    flat = HierarchicalEnsemble(None, LogisticRegression(), folds=3).fit(X, labels)
    each = OnePerClassEnsemble(LogisticRegression(), folds=3).fit(X, labels)
    np.testing.assert_allclose(flat.word_probabilities(X), each.word_probabilities(X))


def test_max_wins_counts_wins_and_breaks_ties_by_margin():
    X, labels = pictures(84)
    model = MaxWinsEnsemble(LogisticRegression()).fit(X, labels)
    scores = model.word_scores(X)
    assert np.all(np.round(scores).sum(axis=1) <= 21 + 7)
    best = np.array(model.words_)[scores.argmax(axis=1)]
    assert np.mean([b in label for b, label in zip(best, labels)]) > 0.8
    together = MaxWinsEnsemble(LogisticRegression()).fit([[0.0], [1.0]], [["a", "b"], ["a", "b"]])
    assert together.classifiers_ == [None]


def test_frequent_words_are_the_same_for_all():
    X, labels = pictures(20)
    answers = FrequentWords().fit(X, labels).annotate(X, top=2)
    assert all(a == answers[0] for a in answers)


def test_rare_words_are_dropped_and_missing_places_told():
    X, labels = pictures(84)
    model = OnePerClassEnsemble(LogisticRegression(), folds=3).fit(X, [*labels[:-1], ["once"]])
    assert "once" not in model.words_
    small = Taxonomy.flat(["sky", "tree"])
    with pytest.raises(ValueError, match="no place for 'beach'"):
        HierarchicalEnsemble(small, LogisticRegression()).fit(X, labels)
    with pytest.raises(ValueError, match="lower min_count"):
        FrequentWords(min_count=99).fit(X, labels)
    with pytest.raises(ValueError, match="words for 3"):
        FrequentWords().fit(X, labels[:3])


def test_the_default_base_is_the_distance_discriminant():
    X, labels = pictures(42)
    model = HierarchicalEnsemble(example(), folds=3, n_jobs=2).fit(X, labels)
    best = [words[0].name for words in model.annotate(X, top=1)]
    assert np.mean([b in label for b, label in zip(best, labels)]) > 0.8
