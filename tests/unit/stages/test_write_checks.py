from harnesspro.core.records import AnswerSpec, Check
from harnesspro.core.referee import freeze
from harnesspro.core.stats import exact_share
from harnesspro.stages.write_checks import N_PROBES, write_checks
from tests.unit.stages.trials import a_task

CHOICE = AnswerSpec(kind="choice", answer_schema="task")
TASKS = tuple(
    a_task(f"t{i}", input={"request": f"Which? {i}", "answer_schema": {"enum": ["red", "blue"]}})
    for i in range(5)
)
OWNERS = Check(check_id="c-own", family="user", name="mine", writer="user", reason="?")


def written(spec=CHOICE, tasks=TASKS, *, owners=(), seed=1):
    return freeze(write_checks(spec, tasks, owners=owners, seed=seed).checks)


def test_a_generated_check_judges_by_what_was_measured_of_it():
    (check,) = written().checks

    assert (check.name, check.writer, check.admitted) == ("in_options", "schema", True)
    assert check.false_reject_rate == exact_share(0, N_PROBES)
    assert check.kill_rate == 0.75
    assert (
        check.reason
        == f"stops {3 * N_PROBES} of {4 * N_PROBES} wrong answers, refuses 0 of 60 true ones"
    )


def test_the_owners_checks_come_first_and_are_taken_at_their_word():
    referee = written(owners=(OWNERS,))

    assert [check.name for check in referee.checks] == ["mine", "in_options"]
    assert referee.checks[0] == OWNERS.model_copy(
        update={"admitted": True, "reason": "the owner's own check"}
    )
    assert set(referee.weights) == {check.check_id for check in referee.checks}


def test_a_check_about_which_nothing_is_known_does_not_judge():
    free = tuple(a_task(f"t{i}") for i in range(3))
    assert written(tasks=free).checks == ()
    assert written(tasks=()).checks == ()
    assert written(tasks=free, owners=(OWNERS,)).weights.keys() == {"c-own"}


def test_no_referee_is_trusted_before_it_was_measured_on_differing_answers():
    for referee in (written(), written(owners=(OWNERS,))):
        assert (referee.trusted, referee.discordant_hit_rate) == (False, None)
        assert referee.reason.endswith("is not known")
    assert "it can say nothing" in written(AnswerSpec(kind="files")).reason


def test_the_same_seed_freezes_the_same_referee():
    assert written().referee_hash == written().referee_hash
    assert written(seed=1) == written(seed=1)
