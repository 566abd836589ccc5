"""Other label-free scorers of variants, to hold ours against; each sees what ours sees of the answers.

`answers` is variants x tasks (cluster numbers, the same number is the same answer), `passes` is tasks x
checks x clusters (1 where an answer of that cluster passes). Each returns one score a variant.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def pass_rate(answers: Ints, passes: Floats) -> Floats:
    """Mean share of checks passed."""
    scores: Floats = _own(answers, passes).mean(axis=(1, 2))
    return scores


def majority(answers: Ints, passes: Floats) -> Floats:
    """Share of tasks on which a variant gives the answer most variants give; ties split evenly."""
    sizes = _sizes(answers, passes.shape[2])
    top = sizes == sizes.max(axis=1, keepdims=True)
    weight = top / top.sum(axis=1, keepdims=True)
    scores: Floats = _of(answers, weight).mean(axis=1)
    return scores


def codet(answers: Ints, passes: Floats) -> Floats:
    """CodeT: sets of answers that pass the same checks, ranked by sqrt(size) x checks passed.

    A variant scores where its set is the best of the task; ties split evenly (Chen et al. 2022).
    """
    sizes = _sizes(answers, passes.shape[2])
    value = np.zeros(sizes.shape)
    for task, of_task in enumerate(passes):
        _, group = np.unique(of_task.T, axis=0, return_inverse=True)
        together = np.bincount(group.ravel(), weights=sizes[task])[group.ravel()]
        value[task] = np.sqrt(together) * of_task.sum(axis=0) * (sizes[task] > 0)
    top = (value == value.max(axis=1, keepdims=True)) & (sizes > 0)
    members = (top * sizes).sum(axis=1, keepdims=True)
    scores: Floats = _of(answers, top / np.maximum(members, 1)).mean(axis=1)
    return scores


def dawid_skene(answers: Ints, passes: Floats, *, n_steps: int = 50) -> Floats:
    """Checks as annotators of "this answer is right", by EM with one sensitivity and specificity each.

    Starts from the share of checks passed (Dawid and Skene 1979, two classes).
    """
    own = _own(answers, passes).reshape(-1, passes.shape[1])
    right = own.mean(axis=1)
    for _ in range(n_steps):
        sure = (right @ own + 4) / (right.sum() + 5)
        fooled = ((1 - right) @ own + 1) / ((1 - right).sum() + 5)
        prior = np.clip(right.mean(), 0.01, 0.99)
        odds = np.log(prior / (1 - prior))
        odds = odds + own @ np.log(sure / fooled) + (1 - own) @ np.log((1 - sure) / (1 - fooled))
        right = 1 / (1 + np.exp(-np.clip(odds, -50, 50)))
    scores: Floats = right.reshape(answers.shape).mean(axis=1)
    return scores


RIVALS = {
    "pass rate": pass_rate,
    "majority": majority,
    "CodeT": codet,
    "Dawid-Skene": dawid_skene,
}


def _own(answers, passes):
    """Variants x tasks x checks: what each variant's own answer passes."""
    tasks = np.arange(answers.shape[1])
    return passes[tasks[None, :], :, answers]


def _of(answers, weight):
    """Variants x tasks: the weight of each variant's own answer."""
    return weight[np.arange(answers.shape[1])[None, :], answers]


def _sizes(answers, n_clusters: int):
    """Tasks x clusters: how many variants give each answer."""
    return np.stack([np.bincount(col, minlength=n_clusters) for col in answers.T]).astype(float)
