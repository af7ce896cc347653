"""Keys and the audit log over HTTP: who may make, see, replace and revoke what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from remanence.testing.patience import HANG_S, until
from remanence.testing.serving import Served, serving
from support import http


@pytest.fixture
def server() -> Iterator[Served]:
    with serving() as served:
        yield served


class Holder:
    """Somebody with a key."""

    def __init__(self, server: Served, key: str) -> None:
        self.key = key
        self._url = server.url

    def __call__(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.key}"}
        url = self._url + path
        return http.request(method, url, json=body, headers=headers, timeout=HANG_S, **more)


@pytest.fixture
def operator(server: Served) -> Holder:
    return Holder(server, server.key("admin", operator=True, name="operator"))


@pytest.fixture
def admin(server: Served, operator: Holder) -> Holder:
    return Holder(server, server.key("admin", tenant="acme", name="acme's admin"))


def made(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 200, answer.text
    assert answer.headers["cache-control"] == "no-store"
    told: dict[str, Any] = answer.json()
    assert told.keys() == {"key", "about"}
    return told


def new(holder: Holder, **more: Any) -> httpx.Response:
    return holder("POST", "/v1/admin/keys", {"name": "new", "grants": ["read"], **more})


def test_the_first_key_closes_the_server(server: Served) -> None:
    first = http.post(f"{server.url}/v1/admin/keys", json={"name": "first", "grants": ["admin"]})
    assert made(first)["about"]["tenant"] == "default"
    assert http.get(f"{server.url}/v1/stats").status_code == 401
    assert Holder(server, first.json()["key"])("GET", "/v1/stats").status_code == 200


def test_a_key_is_made_shown_once_and_works(server: Served, admin: Holder) -> None:
    told = made(new(admin, trust=0.5, rate_limit=100, expires_at="2999-01-01T00:00:00Z"))
    about = told["about"]
    assert (about["tenant"], about["grants"], about["operator"]) == ("acme", ["read"], False)
    assert (about["trust"], about["rate_limit"]) == (0.5, 100)
    holder = Holder(server, told["key"])
    assert holder("GET", "/v1/stats").status_code == 200
    assert holder("POST", "/v1/memories", {"text": "a"}).status_code == 403
    assert holder("GET", "/v1/admin/keys").status_code == 403
    listed = admin("GET", "/v1/admin/keys")
    assert told["key"].rpartition("_")[2] not in listed.text
    assert about in listed.json()["keys"]


def test_a_tenant_sees_its_own_keys_and_an_operator_all(admin: Holder, operator: Holder) -> None:
    def tenants(holder: Holder) -> set[str]:
        return {one["tenant"] for one in holder("GET", "/v1/admin/keys").json()["keys"]}

    assert tenants(admin) == {"acme"}
    assert tenants(operator) == {"acme", "default"}


def test_nobody_but_an_operator_makes_keys_of_others(admin: Holder, operator: Holder) -> None:
    assert new(admin, tenant="other").status_code == 403
    assert made(new(operator, tenant="other"))["about"]["tenant"] == "other"


def test_no_operator_is_made_from_outside(admin: Holder, operator: Holder) -> None:
    for holder in (admin, operator):
        assert new(holder, operator=True).status_code == 400
    assert not made(new(operator))["about"]["operator"]


@pytest.mark.parametrize("limited", [{"trust": 0.5}, {"quarantine": True}])
def test_a_key_of_limited_trust_makes_none(server: Served, limited: dict[str, Any]) -> None:
    holder = Holder(server, server.key("admin", **limited))
    assert new(holder).status_code == 403
    assert holder("GET", "/v1/admin/keys").status_code == 403


def test_another_tenants_key_is_not_there(server: Served, admin: Holder, operator: Holder) -> None:
    others = made(new(operator, tenant="other"))
    for prefix in (others["about"]["prefix"], operator.key.split("_")[1], "aaaaaaaa"):
        path = f"/v1/admin/keys/{prefix}"
        for answer in (admin("DELETE", path), admin("POST", f"{path}/rotate", {})):
            assert answer.status_code == 404
            assert answer.json()["detail"].startswith(f"There is no key '{prefix}'")
    assert Holder(server, others["key"])("GET", "/v1/stats").status_code == 200


def test_a_revoked_key_is_refused_soon(server: Served, admin: Holder) -> None:
    told = made(new(admin))
    holder = Holder(server, told["key"])
    assert holder("GET", "/v1/stats").status_code == 200
    revoked = admin("DELETE", f"/v1/admin/keys/{told['about']['prefix']}")
    assert revoked.status_code == 200
    assert revoked.json()["revoked_at"]
    until(lambda: holder("GET", "/v1/stats").status_code == 401)
    again = admin("DELETE", f"/v1/admin/keys/{told['about']['prefix']}")
    assert again.json() == revoked.json()


def test_a_key_is_replaced_at_once_or_after_a_while(server: Served, admin: Holder) -> None:
    old = made(new(admin))
    path = f"/v1/admin/keys/{old['about']['prefix']}/rotate"
    new_one = made(admin("POST", path, {"grace_s": 60}))
    for told in (old, new_one):
        assert Holder(server, told["key"])("GET", "/v1/stats").status_code == 200
    assert admin("POST", path, {}).status_code == 422
    path = f"/v1/admin/keys/{new_one['about']['prefix']}/rotate"
    last = made(admin("POST", path))
    assert Holder(server, new_one["key"])("GET", "/v1/stats").status_code == 401
    assert Holder(server, last["key"])("GET", "/v1/stats").status_code == 200


def test_a_key_in_the_place_of_another_may_no_more_than_its_maker(
    server: Served, admin: Holder
) -> None:
    slow = Holder(server, server.key("admin", tenant="acme", rate_limit=50))
    lasting = made(new(admin, rate_limit=0))["about"]
    told = made(slow("POST", f"/v1/admin/keys/{lasting['prefix']}/rotate"))["about"]
    assert (told["rate_limit"], told["expires_at"]) == (50, None)


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"grants": []}, 422),
        ({"grants": ["fly"]}, 400),
        ({"name": ""}, 422),
        ({"trust": 2}, 422),
        ({"rate_limit": -1}, 422),
        ({"expires_at": "2001-01-01T00:00:00Z"}, 422),
        ({"expires_at": "soon"}, 400),
        ({"colour": "blue"}, 400),
    ],
)
def test_what_no_key_can_be(admin: Holder, more: dict[str, Any], status: int) -> None:
    assert new(admin, **more).status_code == status


def test_what_was_done_is_in_the_log(admin: Holder, operator: Holder) -> None:
    key = made(new(admin))["about"]
    body = {"label": "note", "value": "kept"}
    assert admin("POST", "/v1/blocks", body).status_code == 200
    assert admin("DELETE", "/v1/blocks/note", params={"erase": "true"}).status_code == 200
    entries = admin("GET", "/v1/admin/audit").json()["entries"]
    deeds = [one["deed"] for one in entries]
    assert deeds[0] == "blocks.delete"
    assert deeds[1] == "keys.create"
    assert entries[1]["about"]["prefix"] == key["prefix"]
    assert all(one["who"] == f"key:{admin.key.split('_')[1]}" for one in entries[:2])
    page = admin("GET", "/v1/admin/audit", params={"limit": 1, "offset": 1}).json()["entries"]
    assert page == entries[1:2]
    checked = admin("GET", "/v1/admin/audit/verify").json()
    assert (checked["tenant"], checked["intact"]) == ("acme", True)
    assert checked["entries"] == len(entries)
    theirs = operator("GET", "/v1/admin/audit").json()["entries"]
    assert not {one["deed"] for one in theirs} & {"blocks.delete"}


def test_the_log_takes_no_odd_page(admin: Holder) -> None:
    for query, status in (("limit=0", 422), ("offset=-1", 422), ("limit=x", 400), ("who=me", 400)):
        assert admin("GET", f"/v1/admin/audit?{query}").status_code == status
    assert admin("GET", "/v1/admin/keys?limit=1").status_code == 400
