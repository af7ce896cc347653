-- name: lock_writers_shared
SELECT pg_advisory_xact_lock_shared(%(words)s), pg_advisory_xact_lock_shared(%(own)s)

-- name: lock_memories
SELECT {record}, m.terms, m.characters, m.flags, m.said_from, m.said_to FROM {memories_and_uses}
WHERE m.tenant = %(tenant)s AND m.id = ANY(%(ids)s) ORDER BY m.key FOR UPDATE OF m

-- name: new_keys
SELECT array_agg(nextval('memory_keys')) FROM generate_series(1, %(count)s)

-- name: insert_memories
INSERT INTO memories (
    tenant, key, id, partition, kind, state, happened_at, created_at, updated_at, terms,
    characters, flags, said_from, said_to, importance, trust, pinned, version, agent_id,
    session_id, role, speaker, external_id, source, actor, origin, superseded_by, digest,
    metadata, text
) SELECT %(tenant)s, new.* FROM {memory_columns} AS new

-- name: memory_columns
unnest(
    %(key)s, %(id)s, %(partition)s, %(kind)s, %(state)s, %(happened_at)s, %(created_at)s,
    %(updated_at)s, %(terms)s, %(characters)s, %(flags)s, %(said_from)s, %(said_to)s,
    %(importance)s, %(trust)s, %(pinned)s, %(version)s, %(agent_id)s, %(session_id)s, %(role)s,
    %(speaker)s, %(external_id)s, %(source)s, %(actor)s, %(origin)s, %(superseded_by)s,
    %(digest)s, %(metadata)s, %(text)s
)

-- name: update_memories
UPDATE memories AS m SET
    kind = new.kind, state = new.state, happened_at = new.happened_at,
    updated_at = new.updated_at, terms = new.terms, characters = new.characters,
    flags = new.flags, said_from = new.said_from, said_to = new.said_to,
    importance = new.importance, trust = new.trust, pinned = new.pinned, version = new.version,
    agent_id = new.agent_id, session_id = new.session_id, role = new.role, speaker = new.speaker,
    external_id = new.external_id, source = new.source, actor = new.actor, origin = new.origin,
    superseded_by = new.superseded_by, digest = new.digest, metadata = new.metadata,
    text = new.text, packed = NULL, dictionary = NULL, tier = 0
FROM {memory_columns} AS new (
    key, id, partition, kind, state, happened_at, created_at, updated_at, terms, characters,
    flags, said_from, said_to, importance, trust, pinned, version, agent_id, session_id, role,
    speaker, external_id, source, actor, origin, superseded_by, digest, metadata, text
)
WHERE m.tenant = %(tenant)s AND m.key = new.key

-- name: delete_memories
DELETE FROM memories WHERE tenant = %(tenant)s AND key = ANY(%(keys)s)

-- name: delete_history
DELETE FROM history WHERE tenant = %(tenant)s AND memory = ANY(%(keys)s)

-- name: delete_uses
DELETE FROM uses WHERE tenant = %(tenant)s AND memory = ANY(%(keys)s)

-- name: delete_feedback
DELETE FROM feedback WHERE tenant = %(tenant)s AND memory = ANY(%(keys)s)

-- name: delete_links_from
DELETE FROM links WHERE tenant = %(tenant)s AND source = ANY(%(keys)s)

-- name: delete_links_to
DELETE FROM links WHERE tenant = %(tenant)s AND target = ANY(%(keys)s)

-- name: insert_words
INSERT INTO words (tenant, term, place)
SELECT %(tenant)s, term, place FROM unnest(%(terms)s, %(places)s) AS new (term, place)

-- name: delete_words
DELETE FROM words USING unnest(%(terms)s, %(places)s) AS old (term, place)
WHERE words.tenant = %(tenant)s AND words.term = old.term AND words.place = old.place

-- name: insert_labels
INSERT INTO labels (tenant, partition, name, value, memory)
SELECT %(tenant)s, partition, name, value, memory
FROM unnest(%(partitions)s, %(names)s, %(values)s, %(keys)s) AS new (partition, name, value, memory)
ON CONFLICT DO NOTHING

-- name: delete_labels
DELETE FROM labels AS l
USING unnest(%(partitions)s, %(names)s, %(values)s, %(keys)s) AS old (partition, name, value, memory)
WHERE l.tenant = %(tenant)s AND l.partition = old.partition AND l.name = old.name
AND l.value = old.value AND l.memory = old.memory

-- name: insert_history
INSERT INTO history (tenant, memory, version, verb, at, actor, reason, before)
SELECT %(tenant)s, new.* FROM unnest(
    %(memory)s, %(version)s, %(verb)s, %(at)s, %(actor)s, %(reason)s, %(before)s
) AS new

-- name: lock_positions
SELECT id FROM partitions WHERE tenant = %(tenant)s AND id = ANY(%(partitions)s)
ORDER BY id FOR NO KEY UPDATE

-- name: announce
WITH moved AS (
    UPDATE partitions AS p SET position = p.position + c.changes, memories = p.memories + c.more
    FROM unnest(%(partitions)s, %(counts)s, %(more)s) AS c (id, changes, more)
    WHERE p.tenant = %(tenant)s AND p.id = c.id
    RETURNING p.id, p.position - c.changes AS start
)
INSERT INTO changes (tenant, partition, seq, memory)
SELECT %(tenant)s, moved.id, moved.start + new.nth, new.memory
FROM unnest(%(places)s, %(nths)s, %(keys)s) AS new (partition, nth, memory)
JOIN moved ON moved.id = new.partition

-- name: delete_old_marks
DELETE FROM commits WHERE tenant = %(tenant)s AND writer IN (
    SELECT writer FROM commits WHERE tenant = %(tenant)s AND at < now() - interval '1 hour'
    FOR UPDATE SKIP LOCKED
)
