"""The estimator: golden values, invariances, and every way in."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import Ridge
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from lookalike.errors import LookalikeWarning
from lookalike.learn import BlockMoments, BoostedKernel

spec = importlib.util.spec_from_file_location("fusion_oracle", Path(__file__).with_name("oracle.py"))
oracle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oracle)

GOLDEN = [oracle.X1, oracle.X2]


def golden(**options):
    options = {"min_gain": 1e-3, "rescale": False, **options}
    return BoostedKernel(**options).fit(GOLDEN, oracle.Y)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(0)) / X.std(0)
    return [X[:, :5], X[:, 5:9], X[:, 9:]], y


def test_the_golden_run():
    model = golden(n_rounds=12)
    taken = model.selected_
    assert taken["block"].tolist() == [0, 0, 1, 0, 1, 1, 0, 1, 1, 0]
    assert taken["eigenvector"].tolist() == [-1, -1, 0, 0, 0, 0, 0, 0, 1, 0]
    betas = [1, 1, 2.1303971849, 1.1375813576, 3.9125864479, 2.6911901100, 1.0101351203, 1.4989546020]
    np.testing.assert_allclose(taken["weight"], [*betas, 2.0987205384, 1.0700246866], atol=1e-8)
    path = [0.7103894179, 0.7873446462, 0.8030887561, 0.8445356948, 0.8550990446, 0.8569558105]
    np.testing.assert_allclose(taken["alignment"][1:7], path, atol=1e-9)
    np.testing.assert_allclose(taken["alignment"][7:], [0.8584917248, 0.8600013431, 0.8612723918], atol=1e-9)
    K = model.kernel(GOLDEN)
    diagonal = [0.4773362948, 0.4000313970, 0.3331098111, 0.1738866608, 0.4307958878]
    np.testing.assert_allclose(np.diag(K)[:5], diagonal, atol=1e-9)
    np.testing.assert_allclose(
        np.diag(K)[5:], [0.5753028909, 0.5253834833, 0.7121808815, 0.7240514921], atol=1e-9
    )
    row = [0.4773362948, 0.3119434304, 0.2410752730, 0.0192013814, 0.0688234361, -0.1719817627]
    np.testing.assert_allclose(K[0, :6], row, atol=1e-9)
    query = [np.array([[3.0, 3.0]]), np.array([[1.0, 2.0]])]
    answer = [0.0888339174, 0.0685778408, 0.0406164831, 0.0103887353, 0.0001376259]
    np.testing.assert_allclose(model.kernel(query, GOLDEN)[0, :5], answer, atol=1e-9)
    assert model.kernel(query)[0, 0] == pytest.approx(0.0235206034, abs=1e-9)
    M1 = model.weights_[0] @ model.weights_[0].T
    M2 = model.weights_[1] @ model.weights_[1].T
    np.testing.assert_allclose(M1, [[0.0590434653, 0.0160294692], [0.0160294692, 0.0363033253]], atol=1e-9)
    np.testing.assert_allclose(M2, [[0.0548144199, -0.0041525319], [-0.0041525319, 0.0502224577]], atol=1e-9)
    assert model.stop_reason_ == "no candidate gains more than min_gain"


@pytest.mark.parametrize(
    "options, rounds, first, last",
    [
        ({"min_gain": 1e-4}, 39, 0.7103894179, 0.8727518408),
        ({"select": "best"}, 6, 0.7103894179, 0.8563816958),
        ({"ridge": 0.1}, 10, 0.7103721146, 0.8607627734),
        ({"scoring": "loo"}, 11, 0.4172858037, 0.6894934727),
    ],
)
def test_other_settings_on_the_golden_data(options, rounds, first, last):
    model = golden(**options)
    assert model.n_rounds_ == rounds
    assert model.alignments_[1] == pytest.approx(first, abs=1e-9)
    assert model.alignments_[-1] == pytest.approx(last, abs=1e-9)


def test_the_convex_optimum_bounds_every_variant():
    best = golden(solver="convex")
    assert best.alignments_[-1] == pytest.approx(0.8849825784, abs=1e-9)
    assert best.certificate().max() < 1e-8
    assert np.all(np.diff(best.sweeps_) >= -1e-14)
    greedy, correct = golden(), golden(solver="corrective")
    assert greedy.alignments_[-1] < correct.alignments_[-1] < best.alignments_[-1]
    assert greedy.certificate().max() > 1e-3
    K, Q = best.kernel(GOLDEN), oracle.basis(oracle.indicators(oracle.Y))
    assert oracle.alignment(K, Q @ Q.T) == pytest.approx(0.8849825784, abs=1e-9)
    K = correct.kernel(GOLDEN)
    assert oracle.alignment(K, Q @ Q.T) == pytest.approx(correct.alignments_[-1], abs=1e-9)


@pytest.mark.parametrize(
    "block, alignment",
    [(GOLDEN[0], 0.7103894179), (GOLDEN[1], 0.7413969664), (np.hstack(GOLDEN), 0.9278424333)],
)
def test_one_space_is_solved_at_once(block, alignment):
    model = BoostedKernel(levels=None, rescale=False).fit([block], oracle.Y)
    assert model.n_rounds_ == 2  # no round can follow the initial functions
    assert model.alignments_[-1] == pytest.approx(alignment, abs=1e-9)
    K, Q = model.kernel([block]), oracle.basis(oracle.indicators(oracle.Y))
    assert np.sum(K * K) == pytest.approx(np.sum(K * (Q @ Q.T)), rel=1e-10)  # N² = S
    assert model.certificate().max() < 1e-9


def test_the_corrective_weights_satisfy_their_conditions():
    """Non-negative weights are the best where no kernel's slope is above 0 and used ones have slope 0."""
    greedy, correct = golden(), golden(solver="corrective")
    Q = oracle.basis(oracle.indicators(oracle.Y))
    gap = Q @ Q.T - correct.kernel(GOLDEN)
    F = greedy.transform(GOLDEN)
    slopes = np.einsum("it,ij,jt->t", F, gap, F) / np.sum(F**2, axis=0) ** 2
    assert slopes.max() < 1e-9
    F = correct.transform(GOLDEN)
    np.testing.assert_allclose(np.einsum("it,ij,jt->t", F, gap, F), 0, atol=1e-9)


@pytest.mark.parametrize("solver", ["greedy", "corrective", "convex"])
def test_what_must_not_change_the_kernel(wine, solver):
    blocks, y = wine
    model = BoostedKernel(solver=solver, levels=None, min_gain=1e-3)
    K = model.fit(blocks, y).kernel(blocks)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(y))
    same = {
        "classes renamed": (blocks, np.array([7, 3, 5])[y], slice(None)),
        "rows in another order": ([b[order] for b in blocks], y[order], np.argsort(order)),
        "affine maps": ([b @ (rng.normal(size=(b.shape[1],) * 2)) + 5 for b in blocks], y, slice(None)),
        "constant and doubled columns": (
            [np.c_[b, b[:, :1], np.ones(len(b))] for b in blocks],
            y,
            slice(None),
        ),
    }
    for what, (X, labels, back) in same.items():
        got = clone(model).fit(X, labels).kernel(X)[back][:, back]
        np.testing.assert_allclose(got, K, atol=1e-7 * np.abs(K).max(), err_msg=what)


def test_a_block_given_twice_changes_nothing(wine):
    blocks, y = wine
    once, twice = BoostedKernel().fit(blocks, y), BoostedKernel().fit([*blocks, blocks[0]], y)
    np.testing.assert_allclose(twice.kernel([*blocks, blocks[0]]), once.kernel(blocks), atol=1e-9)


def test_one_pass_in_batches_is_the_same_model(wine):
    blocks, y = wine
    whole = BoostedKernel().fit(blocks, y)
    batches = BoostedKernel()
    for rows in np.array_split(np.random.default_rng(1).permutation(len(y)), 5):
        batches.partial_fit([b[rows] for b in blocks], y[rows], refresh=False)
    extra = [b[:30] + 1 for b in blocks]
    batches.partial_fit(extra, y[:30])
    assert np.abs(batches.kernel(blocks) - whole.kernel(blocks)).max() > 1e-3
    batches.forget(extra, y[:30])
    np.testing.assert_allclose(batches.alignments_, whole.alignments_, rtol=1e-8)
    np.testing.assert_allclose(batches.kernel(blocks), whole.kernel(blocks), atol=1e-8)
    merged = BlockMoments([5, 4, 4], [2, 0, 1])
    for rows in (slice(0, 100), slice(100, None)):
        part = BlockMoments([5, 4, 4], [0, 1, 2])
        merged.merge(part.update([b[rows] for b in blocks], np.eye(3)[y[rows]]))
    far = BoostedKernel().fit_moments(merged)
    np.testing.assert_allclose(far.kernel(blocks), whole.kernel(blocks), atol=1e-8)


def test_classes_may_come_with_a_later_batch(wine):
    blocks, y = wine
    model = BoostedKernel()
    for c in (2, 0, 1):
        model.partial_fit([b[y == c] for b in blocks], y[y == c], refresh=c == 1)
    assert model.classes_.tolist() == [0, 1, 2]
    np.testing.assert_allclose(model.kernel(blocks), BoostedKernel().fit(blocks, y).kernel(blocks), atol=1e-8)


def test_columns_are_prefixes_and_can_be_compressed(wine):
    blocks, y = wine
    model = BoostedKernel(n_rounds=30).fit(blocks, y)
    F = model.transform(blocks)
    short = BoostedKernel(n_rounds=8, rescale=False).fit(blocks, y).transform(blocks)
    np.testing.assert_allclose(F[:, :8] / model.scale_, short, atol=1e-12)
    assert [f.shape[1] for f in model.staged_transform(blocks)][:3] == [1, 2, 3]
    mean, matrix = model.to_matrix()
    np.testing.assert_allclose((np.hstack(blocks) - mean) @ matrix, F, atol=1e-12)
    small = model.compress()
    assert small.n_rounds_ <= sum(min(b.shape[1], 2) for b in blocks)  # the rank bound
    np.testing.assert_allclose(small.kernel(blocks), model.kernel(blocks), atol=1e-10)
    distances = ((F[:, None] - F) ** 2).sum(-1)
    assert distances.mean() == pytest.approx(1.0, rel=1e-9)
    assert model.contributions_.sum() == pytest.approx(1.0)


def test_weights_count_as_repetitions(wine):
    blocks, y = wine
    times = np.arange(len(y)) % 3
    repeated = [np.repeat(b, times, axis=0) for b in blocks]
    for options in ({}, {"ridge": 0.1}, {"solver": "convex"}):
        weighted = BoostedKernel(**options).fit(blocks, y, sample_weight=times)
        again = BoostedKernel(**options).fit(repeated, np.repeat(y, times))
        np.testing.assert_allclose(weighted.kernel(blocks), again.kernel(blocks), atol=1e-6)


def test_many_labels_at_once(wine):
    blocks, y = wine
    L = np.eye(3)[y]
    single, several = BoostedKernel().fit(blocks, y), BoostedKernel().fit(blocks, L.astype(int))
    np.testing.assert_allclose(several.kernel(blocks), single.kernel(blocks), atol=1e-9)
    more = np.c_[L, L[:, 0] + L[:, 1], blocks[0][:, 0] > 0].astype(int)
    more[0] = 0  # a sample may have no label at all
    model = BoostedKernel().fit(blocks, more)
    assert model.classes_.tolist() == [0, 1, 2, 3, 4]
    Q = oracle.basis(more.astype(float))
    assert oracle.alignment(model.kernel(blocks), Q @ Q.T) == pytest.approx(model.alignments_[-1], rel=1e-9)


def test_one_matrix_is_cut_into_blocks(wine):
    blocks, y = wine
    selection = [("acid", "0:5"), ("phenol", [5, 6, 7, 8]), ("colour", slice(9, None))]
    flat = np.hstack(blocks)
    model = BoostedKernel(blocks=selection, keep_moments=False)
    np.testing.assert_allclose(model.fit_transform(flat, y), BoostedKernel().fit(blocks, y).transform(blocks))
    assert model.block_names_ == ["acid", "phenol", "colour"]
    named = BoostedKernel().fit(dict(zip("abc", blocks)), y)
    assert named.block_names_ == ["a", "b", "c"]
    assert cross_val_score(make_pipeline(model, LinearSVC()), flat, y).mean() > 0.9
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(flat, columns=[f"f{i}" for i in range(13)])
    by_name = BoostedKernel(blocks=[("acid", ["f0", "f1"]), ("rest", ["f7", "f8", "f9"])]).fit(frame, y)
    np.testing.assert_allclose(by_name.weights_[1].shape[0], 3)
    with pytest.raises(ValueError, match="lack"):
        BoostedKernel(blocks=[("acid", ["none"])]).fit(frame, y)


def test_distances_become_similarities(wine):
    blocks, y = wine
    D = [pairwise_distances(b) for b in blocks]
    got = BoostedKernel(metric="precomputed").fit(D, y)
    want = BoostedKernel().fit([np.exp(-d / d.mean()) for d in D], y)
    np.testing.assert_allclose(got.kernel(D), want.kernel([np.exp(-d / d.mean()) for d in D]), atol=1e-8)
    assert got.transform([d[:4] for d in D]).shape == (4, got.n_rounds_)


def test_neighbours_as_weak_learners(wine):
    blocks, y = wine
    model = BoostedKernel(weak_learner="knn", min_gain=1e-3).fit(blocks, y)
    # By hand: leave-one-out means of Q over the 10 neighbours in every block's principal axes.
    Q = oracle.basis(oracle.indicators(y))
    Z = []
    for b in blocks:
        d = pairwise_distances(b)
        np.fill_diagonal(d, np.inf)
        Z.append(Q[np.argsort(d, axis=1)[:, :10]].mean(1))
    first = Z[0] - Z[0].mean(0)
    assert model.alignments_[1] == pytest.approx(oracle.alignment(first @ first.T, Q @ Q.T), rel=1e-9)
    assert np.all(model.selected_["gain"][2:] > 1e-3)
    score = cross_val_score(
        make_pipeline(
            BoostedKernel(weak_learner="knn", blocks=[("a", slice(0, 5)), ("b", slice(5, 13))]), LinearSVC()
        ),
        np.hstack(blocks),
        y,
    )
    assert score.mean() > 0.9


def test_any_regressor_may_be_a_weak_learner(wine):
    blocks, y = wine
    for learner in (KNeighborsRegressor(5), Ridge(1.0)):
        model = BoostedKernel(weak_learner=learner, random_state=0).fit(blocks, y)
        again = BoostedKernel(weak_learner=learner, random_state=0).fit(blocks, y)
        np.testing.assert_array_equal(model.transform(blocks), again.transform(blocks))
        assert LinearSVC().fit(model.transform(blocks), y).score(model.transform(blocks), y) > 0.95


def test_leave_one_out_values_against_brute_force():
    from lookalike.learn._fusion._inputs import Labels
    from lookalike.learn._fusion._smoothers import LeaveOneOut
    from lookalike.learn._fusion._spaces import geometry, ridge_learners

    labels = Labels(oracle.Y)
    moments = BlockMoments([2, 2], [0, 1, 2]).update(GOLDEN, labels.indicators(slice(None)))
    geo = geometry(moments, None)
    bank = LeaveOneOut(geo, moments, GOLDEN, labels, ridge_learners(geo)).bank()
    Q = (labels.indicators(slice(None)) - moments.mean[4:]) @ geo.root
    Z = np.zeros_like(Q)
    for i in range(9):
        others = np.arange(9) != i
        A = np.c_[np.ones(9), oracle.X1]
        Z[i] = A[i] @ np.linalg.lstsq(A[others], Q[others], rcond=None)[0]
    Z -= Z.mean(0)
    np.testing.assert_allclose(bank.own[0], Z.T @ Z, atol=1e-10)
    np.testing.assert_allclose(bank.hit[0], Z.T @ Q, atol=1e-10)


@pytest.mark.parametrize("ridge", [0.0, 0.5, [0.1, 0.5]])
@pytest.mark.parametrize("scoring", ["train", "loo"])
def test_held_out_places_against_brute_force(ridge, scoring):
    model = BoostedKernel(levels=None, ridge=ridge, scoring=scoring, n_rounds=2, rescale=False)
    got = model.fit_held_out(GOLDEN, oracle.Y)
    block = GOLDEN[model.selected_["block"][0]]
    A = np.c_[np.ones(9), block]
    punished = np.max(ridge) * np.trace(np.cov(block.T) * 8) / 2 * np.diag([0.0, 1.0, 1.0])
    Q = oracle.basis(oracle.indicators(oracle.Y))
    want = np.zeros_like(Q)
    for i in range(9):
        others = np.arange(9) != i
        left = A[others].T @ A[others] + punished
        want[i] = A[i] @ np.linalg.solve(left, A[others].T @ Q[others])
    # The basis Q is free to turn, the inner products of the places are not.
    np.testing.assert_allclose(got @ got.T, want @ want.T, atol=1e-10)
    again = BoostedKernel(levels=None, ridge=ridge, scoring=scoring, n_rounds=2, rescale=False).fit(
        GOLDEN, oracle.Y
    )
    np.testing.assert_allclose(model.transform(GOLDEN), again.transform(GOLDEN))


@pytest.mark.parametrize("options", [{}, {"order": "level_first"}, {"select": "best"}])
@pytest.mark.parametrize("scoring", ["train", "loo"])
def test_several_ridges_are_offered_with_every_space(wine, options, scoring):
    blocks, y = wine
    options = {**options, "scoring": scoring, "min_gain": 1e-3, "rescale": False}
    one = BoostedKernel(ridge=0.5, **options).fit(blocks, y)
    same = BoostedKernel(ridge=[0.5, 0.5], **options).fit(blocks, y)
    np.testing.assert_array_equal(one.transform(blocks), same.transform(blocks))
    assert np.all(one.selected_["ridge"] == 0.5)

    model = BoostedKernel(ridge=[0.01, 10.0, 0.5], **options).fit(blocks, y)
    F, taken = model.transform(blocks), model.selected_
    assert set(taken["ridge"]) <= {0.01, 0.5, 10.0} and len(set(taken["ridge"])) > 1
    if not options.get("select"):
        assert taken["ridge"][0] == 10.0  # the strongest is trusted most
    Q = oracle.basis(oracle.indicators(y))
    for t, record in enumerate(taken):  # every function is a ridge regression of some direction of Q
        centred = blocks[record["block"]] - blocks[record["block"]].mean(0)
        _, size, across = np.linalg.svd(centred, full_matrices=False)
        Z, size = centred @ across[: record["dim"]].T, size[: record["dim"]] ** 2
        base = Z / (size + record["ridge"] * size.mean()) @ (Z.T @ Q)
        rest = F[:, t] - base @ np.linalg.lstsq(base, F[:, t], rcond=None)[0]
        np.testing.assert_allclose(rest, 0, atol=1e-9 * np.abs(F[:, t]).max())


def test_held_out_places_look_like_those_of_new_samples(wine):
    blocks, y = wine
    noise = np.random.default_rng(0).normal(size=(len(y), 60))
    order = np.random.default_rng(1).permutation(len(y))
    blocks, y = [b[order] for b in (*blocks, noise)], y[order]
    train, test = slice(0, 90), slice(90, None)
    inside, outside = [b[train] for b in blocks], [b[test] for b in blocks]

    def spread(F, labels):
        """The share of the variance that lies within the classes."""
        means = np.stack([F[labels == c].mean(0) for c in labels])
        return np.sum((F - means) ** 2) / np.sum((F - F.mean(0)) ** 2)

    for options in ({"select": "best", "levels": [60]}, {"weak_learner": KNeighborsRegressor(1)}):
        model = BoostedKernel(random_state=0, **options)
        held = model.fit_held_out(inside, y[train])
        new = spread(model.transform(outside), y[test])
        seen = spread(model.transform(inside), y[train])
        assert abs(spread(held, y[train]) - new) < 0.7 * abs(seen - new)
    thin = BoostedKernel(keep_moments=False).fit_held_out([b[:40] for b in blocks], y[:40])
    whole = BoostedKernel().fit_held_out([b[:40] for b in blocks], y[:40])
    np.testing.assert_allclose(thin @ thin.T, whole @ whole.T, atol=1e-8)
    with pytest.raises(ValueError, match="convex"):
        BoostedKernel(solver="convex").fit_held_out(inside, y[train])


def test_validation_keeps_the_rounds_that_help(wine):
    blocks, y = wine
    model = BoostedKernel(validation_fraction=0.3, random_state=0, min_gain=1e-5).fit(blocks, y)
    kept = int(np.argmax(model.validation_alignments_)) + 1
    assert model.n_rounds_ <= kept <= len(model.validation_alignments_)
    assert BoostedKernel(min_gain=1e-5).fit(blocks, y).n_rounds_ > 2


def test_capacities_grow_only_when_the_small_ones_fail():
    rng = np.random.default_rng(3)
    y = np.repeat(np.arange(6), 60)
    strength = np.linspace(2, 0.3, 64)
    blocks = [(rng.normal(size=(6, 64))[y] * 0.6 + rng.normal(size=(360, 64))) * strength for _ in range(3)]
    model = BoostedKernel(levels=[4, 16, 64], order="level_first").fit(blocks, y)
    thirds = np.array_split(model.selected_["dim"][5:], 3)
    assert thirds[0].mean() < thirds[1].mean() < thirds[2].mean()
    stops = [BoostedKernel(levels=levels).fit(blocks, y).n_rounds_ for levels in ([4], [4, 16], [4, 16, 64])]
    assert stops[0] < stops[1] < stops[2]


@pytest.mark.parametrize(
    "options", [{}, {"scoring": "loo", "ridge": 0.1}, {"solver": "convex", "levels": [5]}]
)
def test_wide_blocks_are_learned_in_the_axes_of_their_samples(options):
    rng = np.random.default_rng(1)
    y = np.repeat(np.arange(3), 10)
    blocks = [rng.normal(size=(30, d)) + rng.normal(size=(3, d))[y] + 4 for d in (60, 8, 45)]
    for weight in (None, rng.random(30) + 0.5):
        slow = BoostedKernel(**options).fit(blocks, y, weight)
        fast = BoostedKernel(keep_moments=False, **options).fit(blocks, y, weight)
        new = [rng.normal(size=(4, d)) for d in (60, 8, 45)]
        np.testing.assert_allclose(fast.kernel(new), slow.kernel(new), atol=1e-7)
        np.testing.assert_allclose(fast.alignments_, slow.alignments_, atol=1e-9)
    assert not hasattr(fast, "moments_")


def test_few_samples_and_wide_blocks():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 5)
    X = rng.normal(size=(10, 30)) + y[:, None]
    auto = BoostedKernel().fit([X], y)
    assert auto.selected_["dim"].max() <= 4 and 0 < auto.alignments_[-1] < 1
    with pytest.warns(LookalikeWarning, match="exactly"):
        exact = BoostedKernel(levels=None).fit([X], y)
    assert exact.alignments_[-1] == pytest.approx(1.0) and exact.n_rounds_ == 1


def test_a_block_that_never_varies_is_no_harm(wine):
    blocks, y = wine
    more = [np.ones((len(y), 3)), *blocks]
    model = BoostedKernel().fit(more, y)
    np.testing.assert_allclose(model.kernel(more), BoostedKernel().fit(blocks, y).kernel(blocks), atol=1e-9)
    assert model.contributions_[0] == 0 and model.certificate()[0] == 0
    assert BoostedKernel(solver="convex").fit(more, y).weights_[0].any() == np.False_


def test_what_is_refused(wine):
    blocks, y = wine
    with pytest.raises(ValueError, match="do not differ"):
        BoostedKernel().fit(blocks, np.zeros(len(y)))
    with pytest.raises(ValueError, match="nothing to learn"):
        BoostedKernel().fit([np.ones((len(y), 2))], y)
    with pytest.raises(ValueError, match="same rows"):
        BoostedKernel().fit([blocks[0], blocks[1][:9]], y)
    with pytest.raises(ValueError, match="NaN"):
        BoostedKernel().fit([np.where(blocks[0] > 1, np.nan, blocks[0])], y)
    with pytest.raises(ValueError, match="blocks"):
        BoostedKernel().fit(blocks, y).transform(blocks[:2])
    with pytest.raises(ValueError, match="leaves nothing"):
        BoostedKernel(keep_moments=False).partial_fit(blocks, y)
    with pytest.raises(ValueError, match="like '0:256'"):
        BoostedKernel(blocks=[("a", "0-3")]).fit(blocks[0], y)
    with pytest.raises(ValueError, match="ends at column 9"):
        BoostedKernel(blocks=[("a", "0:9")]).fit(blocks[0], y)
    with pytest.raises(ValueError, match="from moments"):
        BoostedKernel(scoring="loo").partial_fit(blocks, y)
    with pytest.raises(ValueError, match="not distances"):
        BoostedKernel(metric="precomputed", validation_fraction=0.5).fit([np.eye(len(y))], y)
    with pytest.raises(ValueError, match="works with"):
        BoostedKernel(solver="convex", scoring="loo").fit(blocks, y)
    with pytest.raises(ValueError, match="min_gain"):
        BoostedKernel(min_gain=0.0).fit(blocks, y)
    tell_nothing = np.tile([[1.0], [-1.0]], (4, 1))
    with pytest.raises(ValueError, match="tells the classes apart"):
        BoostedKernel().fit([tell_nothing], np.repeat([0, 1], 4))


def test_single_precision_stays_single(wine):
    blocks, y = wine
    model = BoostedKernel().fit(blocks, y)
    F = model.transform([b.astype(np.float32) for b in blocks])
    assert F.dtype == np.float32
    np.testing.assert_allclose(F, model.transform(blocks), atol=1e-4)
