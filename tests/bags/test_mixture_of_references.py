"""Mixtures of reference images: golden values, bounds, and the EM written out one index at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.bags import Bags, Mixture, MixtureOfReferences, Mixtures
from lookalike.bags._gaussians import References


def mixture(w, m, v):
    return Mixture(np.array(w), np.array(m, float)[:, None], np.array(v, float)[:, None])


U = mixture([0.5, 0.5], [0, 4], [1, 1])
Q = mixture([0.6, 0.4], [0.5, 4.2], [0.8, 1.1])
P = mixture([0.4, 0.6], [0.7, 3.5], [0.9, 1.2])


def random_mixtures(rng, n, n_components=3, d=2):
    return Mixtures(
        rng.dirichlet(np.full(n_components, 2.0), n),
        rng.normal(0, 1, (n, n_components, d)),
        rng.uniform(0.3, 2, (n, n_components, d)),
    )


def weights(q, references, **settings):
    references = references if isinstance(references, Mixtures) else Mixtures.from_list(references)
    q = q if isinstance(q, Mixtures) else Mixtures.from_list([q])
    return MixtureOfReferences(**settings).fit(references).transform(q)


def cross_entropy(q, p, i, j):
    delta = q.variances[i] + (q.means[i] - p.means[j]) ** 2
    return 0.5 * (np.log(2 * np.pi * p.variances[j]) + delta / p.variances[j]).sum()


def overlap(q, p, i, j):
    total = q.variances[i] + p.variances[j]
    root = np.sqrt(q.variances[i] * p.variances[j])
    return np.exp((-((q.means[i] - p.means[j]) ** 2) / (4 * total) + 0.5 * np.log(2 * root / total)).sum())


def literal(q, refs, objective, match, n_iter):
    """Equations 5.17, 5.18, 5.24 and 5.25 with all indices."""
    K, N = len(refs), len(q.weights)
    omega = np.full(K, 1 / K)
    for _ in range(n_iter):
        new = np.zeros(K)
        for i in range(N):
            pairs = [
                (k, j)
                for k in range(K)
                for j in range(len(refs[k].weights))
                if match != "one-to-one" or i == j
            ]
            if objective == "kl":
                gamma = {
                    (k, j): omega[k] * refs[k].weights[j] * np.exp(-cross_entropy(q, refs[k], i, j))
                    for k, j in pairs
                }
            elif objective == "heuristic":
                gamma = {(k, j): omega[k] * refs[k].weights[j] * overlap(q, refs[k], i, j) for k, j in pairs}
            else:
                gamma = {
                    (k, j): omega[k] * refs[k].weights[j] * overlap(q, refs[k], i, j) ** 2 for k, j in pairs
                }
            norm = sum(gamma.values())
            for (k, j), value in gamma.items():
                g = value / norm
                if objective == "bhattacharyya":
                    new[k] += q.weights[i] * np.sqrt(refs[k].weights[j] * g) * overlap(q, refs[k], i, j)
                else:
                    new[k] += q.weights[i] * g
        omega = new**2 / (new**2).sum() if objective == "bhattacharyya" else new
    return omega


GOLDEN = {
    ("kl", 1): (0.4830641845, 0.5169358155),
    ("kl", 3): (0.4493843763, 0.5506156237),
    ("kl", 5): (0.4162101638, 0.5837898362),
    ("bhattacharyya", 1): (0.4716922599, 0.5283077401),
    ("bhattacharyya", 3): (0.4160994448, 0.5839005552),
    ("bhattacharyya", 5): (0.3629372253, 0.6370627747),
}


@pytest.mark.parametrize(("objective", "n_iter"), GOLDEN)
def test_golden_values_of_two_references(objective, n_iter):
    ours = weights(Q, [P, U], objective=objective, n_iter=n_iter)[0]
    assert np.allclose(ours, GOLDEN[objective, n_iter], atol=2e-10)


TOY = {
    ("kl", 1, 1.0): 0.2326377534,
    ("kl", 3, 1.0): 0.1002784088,
    ("kl", 5, 1.0): 0.0393621237,
    ("bhattacharyya", 1, 1.0): 0.2271462647,
    ("bhattacharyya", 3, 1.0): 0.0921892303,
    ("bhattacharyya", 5, 1.0): 0.0338987793,
    ("kl", 1, 0.5): 0.3060955022,
    ("kl", 3, 0.5): 0.2555900299,
    ("kl", 5, 0.5): 0.2108853137,
}


def toy(delta):
    q = mixture([0.5, 0.5], [2, -2], [1, 1])
    # Single Gaussians as mixtures of two equal halves: the sums over j are the same.
    p1, p2 = mixture([0.5, 0.5], [-2, -2], [1, 1]), mixture([0.5, 0.5], [2, 2], [1, 1])
    return q, [p1, p2, mixture([0.5, 0.5], [2 + delta, -2 - delta], [1, 1])]


@pytest.mark.parametrize(("objective", "n_iter", "delta"), TOY)
def test_golden_values_of_the_toy_example(objective, n_iter, delta):
    q, references = toy(delta)
    ours = weights(q, references, objective=objective, n_iter=n_iter, match="one-to-many")[0]
    assert ours[2] == pytest.approx(TOY[objective, n_iter, delta], abs=2e-10)
    assert ours[0] == pytest.approx(ours[1])


def test_converged_toy_weights_leave_the_third_reference():
    q, references = toy(1.0)
    for objective in ("kl", "bhattacharyya"):
        ours = weights(q, references, objective=objective, n_iter=200, match="one-to-many")[0]
        assert np.allclose(ours, [0.5, 0.5, 0], atol=1e-6)


@given(
    st.integers(0, 10_000),
    st.sampled_from(["kl", "bhattacharyya", "heuristic"]),
    st.sampled_from(["one-to-one", "one-to-many"]),
)
def test_is_the_literal_em_and_stays_on_the_simplex(seed, objective, match):
    rng = np.random.default_rng(seed)
    references, queries = random_mixtures(rng, 4), random_mixtures(rng, 2)
    for n_iter in (1, 3):
        ours = weights(queries, references, objective=objective, match=match, n_iter=n_iter)
        assert np.allclose(ours.sum(1), 1)
        assert ours.min() >= 0
        for a in range(2):
            assert np.allclose(ours[a], literal(queries[a], list(references), objective, match, n_iter))
    order = rng.permutation(4)
    moved = weights(queries, references[order], objective=objective, match=match, n_iter=3)
    assert np.allclose(moved, ours[:, order])


@given(st.integers(0, 10_000), st.sampled_from(["kl", "bhattacharyya"]))
def test_every_iteration_gains(seed, objective):
    rng = np.random.default_rng(seed)
    references, q = random_mixtures(rng, 5), random_mixtures(rng, 1)
    logs = References(references, overlap=2 * (objective != "kl")).logs(q)[:, 0]
    values = []
    for n_iter in range(1, 8):
        omega = weights(q, references, objective=objective, n_iter=n_iter)[0]
        total = np.exp(logs) @ omega
        values.append(q.weights[0] @ (np.log(total) if objective == "kl" else np.sqrt(total)))
    assert np.diff(values).min() >= -1e-12


def test_a_reference_finds_itself_where_that_is_a_theorem():
    rng = np.random.default_rng(0)
    references = random_mixtures(rng, 6)
    for settings in ({"objective": "kl"}, {"objective": "bhattacharyya", "sqrt_weights": True}):
        ours = weights(references, references, n_iter=3000, **settings)
        assert np.all(ours.argmax(1) == np.arange(6))
        assert ours.max(1).min() > 0.98


def test_the_printed_bound_may_prefer_another_reference():
    q = mixture([0.6, 0.4], [0, 9], [1, 1])
    other = mixture([1.0, 0.0], [0, 9], [1, 1])
    ours = weights(q, [q, other], n_iter=5000)[0]
    assert np.allclose(ours, [0.769, 0.231], atol=1e-3)


def test_duplicates_share_and_a_single_reference_has_all():
    rng = np.random.default_rng(1)
    m, q = random_mixtures(rng, 3), random_mixtures(rng, 1)
    twice = weights(q, m[[0, 1, 2, 2]])[0]
    assert twice[2] == pytest.approx(twice[3])
    assert weights(q, m[:1])[0, 0] == 1


def test_float32_agrees_with_float64_in_many_dimensions():
    rng = np.random.default_rng(2)
    wide = random_mixtures(rng, 8, 6, 50)
    narrow = Mixtures(*(a.astype(np.float32) for a in (wide.weights, wide.means, wide.variances)))
    for objective in ("kl", "bhattacharyya"):
        a, b = (weights(m, m, objective=objective, n_iter=2) for m in (wide, narrow))
        assert b.dtype == np.float32
        assert np.allclose(a, b, atol=1e-4)


def test_an_image_can_leave_itself_out():
    rng = np.random.default_rng(3)
    m = random_mixtures(rng, 5)
    out = MixtureOfReferences(exclude_self=True, n_references=3, random_state=0)
    ours = out.fit_transform(m)
    assert np.allclose(ours.sum(1), 1)
    assert np.all(ours[out.reference_indices_, np.arange(3)] == 0)
    with pytest.raises(ValueError, match="at least two"):
        MixtureOfReferences(exclude_self=True).fit_transform(m[:1])


@pytest.mark.parametrize("objective", ["kl", "bhattacharyya", "sampling"])
def test_its_own_weight_can_be_the_largest_of_the_others(objective):
    m = random_mixtures(np.random.default_rng(4), 6)
    settings = {"objective": objective, "random_state": 0}
    without = MixtureOfReferences(exclude_self=True, **settings).fit_transform(m)
    ours = MixtureOfReferences(exclude_self="largest", **settings).fit_transform(m)
    others = ~np.eye(6, dtype=bool)
    assert np.allclose(ours[others], without[others])
    assert np.allclose(np.diag(ours), without.max(1))


def test_small_weights_count_more_with_a_power_below_one():
    m = random_mixtures(np.random.default_rng(8), 5)
    plain = weights(m, m, scaled=True)
    assert np.allclose(weights(m, m, scaled=True, power=0.25), plain**0.25)
    assert np.allclose((weights(m, m, power=0.5) ** 2).sum(1), 1)


def test_a_tempered_image_votes_less_for_itself():
    rng = np.random.default_rng(7)
    m = random_mixtures(rng, 12, 4, 30)
    for objective in ("kl", "bhattacharyya"):
        own = [np.diag(weights(m, m, objective=objective, sharpness=s)).mean() for s in (1.0, 0.3, 0.1)]
        assert own[0] > own[1] > own[2]
        assert np.allclose(weights(m, m, objective=objective, sharpness=0.3).sum(1), 1)
    half = weights(m[:1], m, objective="kl", sharpness=0.5, n_iter=1)[0]
    logs = 0.5 * References(m).logs(m[:1])[:, 0]
    soft = np.exp(logs - logs.max(1, keepdims=True))
    assert np.allclose(half, m.weights[0] @ (soft / soft.sum(1, keepdims=True)))


def test_references_are_chosen_as_asked():
    rng = np.random.default_rng(4)
    m = random_mixtures(rng, 30)
    y = np.repeat([0, 1, 2], [20, 6, 4])
    balanced = MixtureOfReferences(n_references=9, random_state=0).fit(m, y)
    assert np.bincount(y[balanced.reference_indices_]).tolist() == [3, 3, 3]
    spread = MixtureOfReferences(n_references=4, selection="spread", random_state=0).fit(m)
    assert len(set(spread.reference_indices_)) == 4
    assert (
        len(MixtureOfReferences(n_references=5, selection="random", random_state=0).fit(m).references_) == 5
    )
    assert len(MixtureOfReferences(n_references=99).fit(m).references_) == 30


def test_sampling_comes_near_the_truth_from_bags_and_from_mixtures():
    q, references = toy(1.0)
    references = Mixtures.from_list(references)
    model = MixtureOfReferences(objective="sampling", n_iter=200, n_samples=4000, random_state=0).fit(
        references
    )
    drawn = model.transform(Mixtures.from_list([q]))
    assert np.allclose(drawn[0], [0.5, 0.5, 0], atol=0.05)

    # Written out for three descriptors.
    X = np.array([[0.3], [2.0], [-1.0]])
    density = np.array(
        [[sum(r.weights * np.exp(-((x - r.means[:, 0]) ** 2) / 2)) for r in references] for x in X[:, 0]]
    )
    omega = np.full(3, 1 / 3)
    for _ in range(4):
        gamma = density * omega
        omega = (gamma / gamma.sum(1, keepdims=True)).mean(0)
    one = MixtureOfReferences(objective="sampling").fit(references).transform(Bags(X, [0, 3, 3]))
    assert np.allclose(one[0], omega)
    assert np.allclose(one[1], 1 / 3)


def test_scaled_weights_have_mean_one():
    rng = np.random.default_rng(5)
    m = random_mixtures(rng, 4)
    assert np.allclose(weights(m, m, scaled=True).mean(1), 1)


def test_refuses_other_numbers_of_components():
    rng = np.random.default_rng(6)
    with pytest.raises(ValueError, match="one-to-one needs equal numbers"):
        weights(random_mixtures(rng, 1, 2), random_mixtures(rng, 2, 3))
    assert weights(random_mixtures(rng, 1, 2), random_mixtures(rng, 2, 3), match="one-to-many").shape == (
        1,
        2,
    )
