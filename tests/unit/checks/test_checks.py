import pytest

from harnesspro.checks import admit, checks_for, empty_answer, mutants, passes, probes_for
from harnesspro.core.records import AnswerSpec, Check, Task

CALLS = AnswerSpec(kind="json", answer_schema="task")
CHOICE = AnswerSpec(kind="choice", answer_schema="task")


def function(name, required=(), **properties):
    return {
        "name": name,
        "description": f"Does {name}. More words.",
        "parameters": {"type": "object", "properties": properties, "required": list(required)},
    }


def call_task(request, *functions):
    branches = [
        {
            "type": "object",
            "properties": {
                "name": {"const": one["name"]},
                "arguments": {**one["parameters"], "additionalProperties": False},
            },
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for one in functions
    ]
    return Task(
        task_id="t",
        input={
            "request": request,
            "functions": list(functions),
            "answer_schema": {"oneOf": branches},
        },
    )


WEATHER = function(
    "weather",
    required=["city"],
    city={"type": "string", "description": "City, such as Lima."},
    days={"type": "integer", "description": "How many. Default is 5."},
    unit={"type": "string", "enum": ["celsius", "fahrenheit"]},
    limit={"type": "integer", "default": 40},
)
STOCK = function("stock", required=["symbol"], symbol={"type": "string"})
TASK = call_task("How is the weather in Paris for three days?", WEATHER, STOCK)


def call(name="weather", **arguments):
    return {"name": name, "arguments": arguments}


def check(name, spec=CALLS):
    return next(one for one in checks_for(spec) if one.name == name)


@pytest.mark.parametrize(
    ("answer", "fits"),
    [
        (call(city="Paris", days=3), True),
        (call(city="Paris"), True),
        (call(days=3), False),
        (call(city="Paris", hours=3), False),
        (call(city=3), False),
        (call(city="Paris", unit="kelvin"), False),
        (call("stock", city="Paris"), False),
        (call("rain", city="Paris"), False),
        ({"name": "weather"}, False),
        ({}, False),
        ("weather", False),
    ],
)
def test_a_call_fits_one_of_its_functions(answer, fits):
    assert passes(check("fits_schema"), TASK, CALLS, answer) is fits


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (call(city="Paris", days=3), True),
        (call(city="Paris", unit="celsius"), True),
        (call(city="Paris", days=5), True),
        (call(city="Paris", limit=40), True),
        (call(city="Lima"), False),
        (call(city="Paris", days=11), False),
        (call(city="Paris", limit=41), False),
    ],
)
def test_values_come_from_the_request_or_the_schema(answer, told):
    assert passes(check("grounded"), TASK, CALLS, answer) is told


def test_values_inside_lists_and_objects_are_held_to_the_request_too():
    trip = function("trip", stops={"type": "array", "items": {"type": "string"}})
    task = call_task("Go from Rome to Bern", trip)

    assert passes(check("grounded"), task, CALLS, call("trip", stops=["Rome", "Bern"]))
    assert not passes(check("grounded"), task, CALLS, call("trip", stops=["Rome", "Oslo"]))


@pytest.mark.parametrize("schema", [None, {"type": "nonsense"}, {"oneOf": None}, {"$ref": "#"}])
def test_without_a_valid_schema_the_checks_are_silent(schema):
    task = Task(task_id="t", input={"request": "x", "answer_schema": schema})

    assert all(passes(one, task, CALLS, {"a": 1}) for one in checks_for(CALLS))


def test_a_schema_that_points_elsewhere_is_not_fetched():
    task = Task(
        task_id="t", input={"answer_schema": {"type": "object", "$ref": "http://127.0.0.1:9/x"}}
    )

    assert passes(check("fits_schema"), task, CALLS, {})


def test_a_check_that_is_a_command_is_not_decided_here():
    owner = Check(check_id="u", family="user", name="compiles", writer="user")

    with pytest.raises(ValueError, match="compiles"):
        passes(owner, TASK, CALLS, {})


def test_a_choice_is_one_of_the_options():
    task = Task(task_id="t", input={"question": "?", "answer_schema": {"enum": ["Red", "Blue"]}})
    held = check("in_options", CHOICE)

    assert [passes(held, task, CHOICE, answer) for answer in ("red ", "Blue", "green", "")] == [
        True,
        True,
        False,
        False,
    ]


def test_text_says_something_and_a_number_is_one():
    text, number = AnswerSpec(kind="text"), AnswerSpec(kind="number", answer_schema={"maximum": 9})
    task = Task(task_id="t", input="?")

    assert [passes(check("says_something", text), task, text, a) for a in ("a", " ", 3)] == [
        True,
        False,
        False,
    ]
    assert [
        passes(check("is_number", number), task, number, a) for a in (3, "1,000", "x", True)
    ] == [True, True, False, False]
    assert [passes(check("in_range", number), task, number, a) for a in (3, "10")] == [True, False]


def test_kinds_without_checks_have_none():
    assert checks_for(AnswerSpec(kind="files")) == ()
    assert probes_for(AnswerSpec(kind="files"), [TASK], seed=1, n=3) == ()


# --- probes and admission ----------------------------------------------------------------------


def test_probes_are_new_tasks_with_the_answer_told_in_the_request():
    probes = probes_for(CALLS, [TASK], seed=7, n=40)

    assert len({probe.probe_id for probe in probes}) == len(probes) == 40
    for probe in probes:
        assert probe.task.input != TASK.input
        assert probe.task.task_id == probe.probe_id
        assert passes(check("fits_schema"), probe.task, CALLS, probe.answer)


def test_probes_depend_on_the_seed_alone():
    assert probes_for(CALLS, [TASK], seed=7, n=5) == probes_for(CALLS, [TASK], seed=7, n=5)
    assert probes_for(CALLS, [TASK], seed=7, n=5) != probes_for(CALLS, [TASK], seed=8, n=5)


def test_no_mutant_is_the_right_answer():
    for probe in probes_for(CALLS, [TASK], seed=3, n=20):
        assert probe.answer not in mutants(probe, CALLS, seed=1)


def test_checks_are_admitted_with_what_was_measured():
    probes = probes_for(CALLS, [TASK], seed=7, n=60)
    measured = {one.name: one for one in admit(checks_for(CALLS), probes, CALLS, seed=1)}
    fits, grounded = measured["fits_schema"], measured["grounded"]

    assert (fits.admitted, grounded.admitted) == (True, True)
    assert fits.false_reject_rate is not None
    assert (fits.false_reject_rate.mean, fits.false_reject_rate.n) == (0.0, 60)
    assert fits.kill_rate is not None
    assert fits.kill_rate > 0.5


def test_a_check_that_stops_nothing_is_not_admitted():
    spec = AnswerSpec(kind="text", answer_schema={})
    probes = probes_for(spec, [Task(task_id="t", input="?")], seed=1, n=20)
    found = {one.name: one for one in admit(checks_for(spec), probes, spec, seed=1)}

    assert (found["says_something"].admitted, found["fits_schema"].admitted) == (True, False)
    assert found["fits_schema"].reason.startswith("stops none of")


def test_a_check_that_refuses_true_answers_is_not_admitted():
    probes = probes_for(CALLS, [TASK], seed=7, n=20)
    untold = [
        probe.model_copy(update={"task": call_task("Go on.", WEATHER, STOCK)}) for probe in probes
    ]
    measured = {one.name: one for one in admit(checks_for(CALLS), untold, CALLS, seed=1)}
    grounded = measured["grounded"]

    assert not grounded.admitted
    assert grounded.reason.endswith("more than 5 % is too many")


def test_without_probes_nothing_is_admitted_but_the_owners_own():
    owner = Check(check_id="u", family="user", name="compiles", writer="user")
    found = admit([*checks_for(CHOICE), owner], [], CHOICE, seed=1)

    assert [(one.admitted, one.reason) for one in found] == [
        (False, "no probe could be made, so nothing is known of it"),
        (True, "the owner's own check"),
    ]


@pytest.mark.parametrize("kind", ["json", "choice", "text", "number"])
def test_the_empty_answer_passes_no_format_check(kind):
    spec = AnswerSpec(kind=kind, answer_schema="task")
    schema = {"type": "object", "required": ["a"]} if kind == "json" else {"enum": ["a"]}
    task = Task(task_id="t", input={"answer_schema": schema})
    formats = [one for one in checks_for(spec) if one.family == "format"]

    assert not all(passes(one, task, spec, empty_answer(spec)) for one in formats)


def test_choices_have_probes_from_their_own_options():
    task = Task(
        task_id="t", input={"question": "Which?", "answer_schema": {"enum": ["Red", "Blue"]}}
    )
    probes = probes_for(CHOICE, [task], seed=1, n=30)
    (held,) = admit(checks_for(CHOICE), probes, CHOICE, seed=1)

    assert {probe.answer for probe in probes} == {"Red", "Blue"}
    assert held.admitted


NUMBER, TEXT = AnswerSpec(kind="number"), AnswerSpec(kind="text")
FREE = (Task(task_id="t0", input={"request": "How many?"}), Task(task_id="t1", input="How much?"))
CHOICES = tuple(
    Task(
        task_id=f"t{i}",
        input={
            "request": "Which?",
            "options": list(words),
            "answer_schema": {"enum": list(words)},
        },
    )
    for i, words in enumerate((("red", "blue", "green", "grey"), ("one", "two", "six", "ten")))
)
KINDS_OF_PROBES = [
    (NUMBER, FREE, {"inverse", "steps", "sum"}),
    (TEXT, FREE, {"give_back", "planted_fact", "reordered"}),
    (AnswerSpec(kind="choice", answer_schema="task"), CHOICES, {"told"}),
]


@pytest.mark.parametrize(("spec", "tasks", "families"), KINDS_OF_PROBES)
def test_a_thousand_probes_ask_a_thousand_things_and_the_first_stay_the_first(
    spec, tasks, families
):
    probes = probes_for(spec, tasks, seed=5, n=1000)

    assert len({probe.task.content_key for probe in probes}) == 1000
    assert {probe.family for probe in probes} == families
    assert probes_for(spec, tasks, seed=5, n=60) == probes[:60]
    assert probes_for(spec, tasks, seed=6, n=60) != probes[:60]


@pytest.mark.parametrize(("spec", "tasks", "families"), KINDS_OF_PROBES)
def test_the_known_answer_of_every_probe_passes_its_kinds_checks(spec, tasks, families):
    for probe in probes_for(spec, tasks, seed=7, n=200):
        assert [
            check.name
            for check in checks_for(spec)
            if not passes(check, probe.task, spec, probe.answer)
        ] == []


def test_a_choice_probe_lists_only_options_of_its_task_the_right_one_among_them():
    for probe in probes_for(KINDS_OF_PROBES[2][0], CHOICES, seed=8, n=100):
        given = probe.task.input
        assert isinstance(given, dict)
        schema = given["answer_schema"]
        assert isinstance(schema, dict)
        assert given["options"] == schema["enum"]
        assert isinstance(schema["enum"], list)
        assert probe.answer in schema["enum"]
        assert f"asked for here is: {probe.answer}." in str(given["request"])


@pytest.mark.parametrize("n", [20, 60])
def test_where_most_draws_miss_the_schema_the_first_probes_still_stay_the_first(n):
    spec = AnswerSpec(kind="number", answer_schema={"type": "integer", "multipleOf": 7})
    many, few = (probes_for(spec, FREE, seed=3, n=each) for each in (100, n))

    assert few
    assert many[: len(few)] == few


def test_no_story_ends_with_fewer_than_no_lamps():
    spec = AnswerSpec(kind="number", answer_schema={"minimum": -50, "maximum": 50})
    told = [p for p in probes_for(spec, FREE, seed=4, n=300) if p.family == "steps"]

    assert told
    assert all(isinstance(p.answer, int) and p.answer >= 0 for p in told)
