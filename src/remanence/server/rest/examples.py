"""Examples of requests, shown in the OpenAPI document; a test runs each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXAMPLES: Mapping[str, Mapping[str, Any]] = {
    "add": {"text": "Ana moved to Lisbon", "user_id": "alice", "importance": 0.8},
    "add_many": {
        "memories": [{"text": "Ana plays the cello"}, {"text": "Ana has a sister, Marta"}],
        "user_id": "alice",
    },
    "add_messages": {
        "messages": [
            {"role": "user", "name": "Alice", "content": "I started at the bakery on Monday."},
            {"role": "assistant", "content": "How was the first day?"},
        ],
        "user_id": "alice",
        "session_id": "monday",
    },
    "search": {"query": "Where does Ana live?", "user_id": "alice", "limit": 5},
    "context": {"query": "Where does Ana live?", "user_id": "alice", "max_tokens": 800},
    "find": {"user_id": "alice", "kinds": ["episodic"], "limit": 20},
    "count": {"user_id": "alice"},
    "forget": {"user_id": "alice", "filters": {"team": "sales"}, "dry_run": True},
    "cleanup": {"user_id": "alice", "max_age_days": 90, "dry_run": True},
    "similarity": {"a": "Ana moved to Lisbon", "b": "Ana lives in Portugal now"},
    "blocks.create": {"label": "tone", "value": "Short and friendly.", "user_id": "alice"},
    "conversations.append": {
        "messages": [{"role": "user", "content": "My train leaves at nine."}],
        "session_id": "trip",
        "user_id": "alice",
    },
    "conversations.search": {"query": "When does the train leave?", "user_id": "alice"},
    "sessions.create": {"session_id": "trip", "user_id": "alice", "data": {"mood": "hurried"}},
    "working.set": {
        "session_id": "trip",
        "user_id": "alice",
        "key": "destination",
        "value": {"city": "Porto"},
    },
    "facts.add": {
        "subject": "Ana",
        "predicate": "works at",
        "object": "the bakery",
        "user_id": "alice",
        "valid_from": "2026-05-04",
    },
    "facts.extract": {"text": "My sister Marta lives in Porto.", "speaker": "Ana"},
    "graph.add": {"name": "Marta", "type": "person", "user_id": "alice"},
    "graph.relate": {
        "source": "Marta",
        "relation": "lives in",
        "target": "Porto",
        "user_id": "alice",
    },
    "snapshots.take": {"name": "before the trip", "user_id": "alice"},
    "sleep.run": {"steps": ["merge"], "user_id": "alice"},
}
