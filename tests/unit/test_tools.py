"""The declarations of the tools: schemas that hold, and the same checks as the schemas say."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remanence.tools.agent.declarations import MAX_ARGUMENTS, ToolDeclaration, WrongCall
from remanence.tools.agent.tools import BY_NAME, TOOLS, is_echo, normalised

NAMES = {
    *("core_memory_append", "core_memory_replace", "core_memory_insert", "core_memory_rethink"),
    *("archival_memory_insert", "archival_memory_search"),
    *("conversation_search", "conversation_search_date"),
}

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


def test_the_eight_tools_are_there() -> None:
    assert set(BY_NAME) == NAMES
    assert len(TOOLS) == len(NAMES)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@pytest.mark.parametrize("strict", [False, True])
def test_schemas_are_schemas(tool: ToolDeclaration, strict: bool) -> None:
    schema = tool.schema(strict=strict)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert set(schema["required"]) <= set(schema["properties"])
    assert all(each["description"] for each in schema["properties"].values())
    if strict:
        assert schema["required"] == list(schema["properties"])


@st.composite
def a_call(draw: st.DrawFn) -> tuple[ToolDeclaration, dict[str, Any]]:
    tool = draw(st.sampled_from(TOOLS))
    sensible = {
        "string": st.text(max_size=4),
        "integer": st.integers(-3, 60),
        "number": st.floats(),
    }
    given = {
        each.name: draw(st.one_of(sensible[each.type], anything))
        for each in tool.parameters
        if draw(st.integers(0, 9))
    }
    if not draw(st.integers(0, 9)):
        given["user_id"] = "bob"
    return tool, given


@pytest.mark.slow
@given(a_call())
def test_what_is_taken_is_what_the_schema_takes(
    call: tuple[ToolDeclaration, dict[str, Any]],
) -> None:
    tool, given = call
    present = {name: value for name, value in given.items() if value is not None}
    finite = all(value == value and abs(value) != float("inf") for value in numbers(present))
    valid = finite and jsonschema.Draft202012Validator(tool.schema()).is_valid(present)
    try:
        read = tool.read(given)
    except WrongCall:
        assert not valid
    else:
        assert valid
        assert read == present


def numbers(given: dict[str, Any]) -> list[float]:
    return [value for value in given.values() if isinstance(value, float)]


@given(st.text(max_size=50) | anything.map(json.dumps))
def test_arguments_of_any_text_are_read_or_refused(text: str) -> None:
    for tool in TOOLS:
        with suppress(WrongCall):
            assert set(tool.read(text)) <= {each.name for each in tool.parameters}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("{", "not valid JSON"),
        ("[]", "one JSON object"),
        ('"query"', "one JSON object"),
        ("[" * 100_000, "not valid JSON"),
        ('{"query": "' + "x" * MAX_ARGUMENTS + '"}', "characters; send less"),
        ("", "needs 'query'; it takes query, limit?, page?"),
        ('{"query": null}', "needs 'query'"),
        ('{"query": "x", "tenant": "b"}', "no argument 'tenant'"),
        ('{"query": 7}', "query must be a text, not 7"),
        ('{"query": "x", "limit": 1000}', "whole number from 1 to 20, not 1000"),
        ('{"query": "x", "limit": true}', "whole number from 1 to 20, not True"),
        ('{"query": "x", "limit": 1.5}', "whole number from 1 to 20, not 1.5"),
        ('{"query": "x", "limit": NaN}', "whole number from 1 to 20, not nan"),
        ('{"query": "x", "page": 1e999}', "whole number from 1 to 50, not inf"),
        ('{"query": "x", "limit": 1' + "0" * 400 + "}", "whole number from 1 to 20, not 1000"),
        ('{"query": "x", "limit": 1' + "0" * 9_000 + "}", "not valid JSON"),
        ({"query": "x", "limit": 10**9_000}, "whole number from 1 to 20, not an endless int"),
        (None, "must be one JSON object"),
        (["query"], "must be one JSON object"),
        (b"{}", "must be one JSON object"),
        (7, "must be one JSON object"),
    ],
)
def test_a_wrong_call_is_explained(arguments: object, told: str) -> None:
    with pytest.raises(WrongCall) as raised:
        BY_NAME["conversation_search"].read(arguments)
    assert told in str(raised.value)
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(
    ("tool", "argument", "told"),
    [
        ("core_memory_insert", "line", "a whole number from -1 to 1,000,000"),
        ("archival_memory_insert", "importance", "a number from 0 to 1"),
    ],
)
def test_bounds_are_told_in_plain_figures(tool: str, argument: str, told: str) -> None:
    for much in (10**400, -(10**400), 1e300, float("inf"), float("nan")):
        with pytest.raises(WrongCall, match=f"{argument} must be {told}, not "):
            BY_NAME[tool].read(
                {"label": "human", "content": "x", argument: much}
                if tool == "core_memory_insert"
                else {"content": "x", argument: much}
            )


def test_a_whole_number_may_be_written_with_a_point() -> None:
    read = BY_NAME["conversation_search"].read('{"query": "x", "limit": 5.0, "page": null}')
    assert read == {"query": "x", "limit": 5}
    assert isinstance(read["limit"], int)


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("Ana lives in Lisbon.", "Ana lives in Lisbon."),
        ("ana  lives in LISBON", "Ana lives in Lisbon."),
        ("- [2026-05-01 10:00] Ana lives in Lisbon!", "Ana lives in Lisbon."),
        ("“Ana lives in Lisbon”", "Ana lives in Lisbon."),
        ("Ana ｌｉｖｅｓ in Lisbon", "Ana lives in Lisbon."),
        ("Ana lives in Lisbon", "Ana: Ana lives in Lisbon, by the river."),
        ("~ Ana: it was −5 degrees", "[2026-05-01 10:00] Ana: It was -5 degrees."),
        ("she writes C++ — well", "She writes C++ well"),
        ("वह दिल्ली में रहती है", "वह दिल्ली में रहती है।"),
    ],
)
def test_the_same_words_are_an_echo(new: str, known: str) -> None:
    assert is_echo(normalised(new), normalised(known))


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("Ana lives in Porto.", "Ana lives in Lisbon."),
        ("Ana lives in Lisbon since May 2026 with Bo", "Ana lives in Lisbon since May 2026"),
        ("Ana lives in Lisbon with a cat, a dog and a very old parrot, but not now", "not now"),
        ("", "Ana lives in Lisbon."),
        ("Ana knows C++", "Ana knows C"),
        ("Ana knows C", "Ana knows C#"),
        ("The balance is 5", "The balance is -5"),
        ("The balance is −5", "The balance is 5"),
        ("Blood type A-", "Blood type A+"),
        ("It weighs 3.5 kg", "It weighs 35 kg"),
        ("The share is 5%", "The share is 5"),
        ("It costs 5 €", "It costs 5 $"),
        ("कि", "की"),
        ("The dog is called Rex", "The dog is called Rexona"),
    ],
)
def test_other_words_are_none(new: str, known: str) -> None:
    assert not is_echo(normalised(new), normalised(known))
