-- name: record
m.key, m.partition, m.id, m.kind, m.state, m.happened_at, m.created_at, m.updated_at,
m.importance, m.trust, m.pinned, m.version, m.agent_id, m.session_id, m.role, m.speaker,
m.external_id, m.source, m.actor, m.origin, m.superseded_by, m.metadata, {text}, u.count, u.last

-- name: memories_and_uses
memories AS m LEFT JOIN uses AS u ON u.tenant = m.tenant AND u.memory = m.key

-- name: memories_by_id
SELECT {record}, m.digest FROM {memories_and_uses}
WHERE m.tenant = %(tenant)s AND m.id = ANY(%(ids)s)

-- name: lock_by_id
SELECT id, partition, key FROM memories
WHERE tenant = %(tenant)s AND id = ANY(%(ids)s) ORDER BY key FOR KEY SHARE

-- name: places_by_id
SELECT id, partition, key FROM memories WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)

-- name: find_newest
SELECT {record} FROM {memories_and_uses} WHERE {condition}
ORDER BY m.happened_at DESC, m.key DESC LIMIT %s OFFSET %s

-- name: find_oldest
SELECT {record} FROM {memories_and_uses} WHERE {condition}
ORDER BY m.happened_at, m.key LIMIT %s OFFSET %s

-- name: records_by_key
SELECT {record} FROM {memories_and_uses}
WHERE m.tenant = %(tenant)s AND m.key = ANY(%(keys)s) ORDER BY m.key

-- name: count
SELECT count(*) FROM memories AS m WHERE {condition}

-- name: spans
SELECT m.partition, m.session_id, count(*), min(m.happened_at), max(m.happened_at) AS last
FROM memories AS m WHERE {condition} AND {is_active_message} AND m.session_id IS NOT NULL
GROUP BY m.partition, m.session_id ORDER BY last DESC, m.session_id, m.partition LIMIT %s OFFSET %s

-- name: is_active_message
m.kind = 1 AND m.state = 1

-- name: versions
SELECT m.id, m.version FROM memories AS m
WHERE m.tenant = %(tenant)s AND m.key = ANY(%(keys)s) AND m.state = 1 ORDER BY m.key

-- name: texts_beyond_ascii
SELECT m.key, {text} FROM memories AS m
WHERE m.tenant = %(tenant)s AND m.partition = ANY(%(partitions)s) AND m.key > %(after)s
AND (m.packed IS NOT NULL OR octet_length(m.text) > m.characters) ORDER BY m.key LIMIT %(most)s

-- name: metadata_with_long_text
SELECT key, metadata FROM memories WHERE tenant = %(tenant)s AND key = ANY(ARRAY(
    SELECT DISTINCT memory FROM labels
    WHERE tenant = %(tenant)s AND partition = ANY(%(partitions)s) AND name = %(name)s
    AND value >= %(least)s AND value < %(end)s AND memory > %(after)s
    ORDER BY memory LIMIT %(most)s
)) ORDER BY key

-- name: scan
SELECT {record} FROM {memories_and_uses}
WHERE m.tenant = %(tenant)s AND m.key > %(after)s ORDER BY m.key LIMIT %(most)s

-- name: history
SELECT version, verb, at, actor, reason, before FROM history
WHERE tenant = %(tenant)s AND memory = %(key)s ORDER BY version

-- name: note_uses
INSERT INTO uses (tenant, memory, count, last)
SELECT %(tenant)s, memory, count, nullif(last, %(never)s)
FROM unnest(%(keys)s, %(counts)s, %(lasts)s) AS used (memory, count, last) ORDER BY memory
ON CONFLICT (tenant, memory) DO UPDATE SET
    count = uses.count + excluded.count, last = greatest(uses.last, excluded.last)

-- name: move_uses
INSERT INTO uses (tenant, memory, count, last)
VALUES (%(tenant)s, %(key)s, greatest(0, %(uses)s), %(at)s::bigint)
ON CONFLICT (tenant, memory) DO UPDATE SET
    count = greatest(0, uses.count + %(uses)s),
    last = CASE WHEN uses.last = %(instead)s::bigint THEN %(at)s::bigint
        ELSE greatest(uses.last, %(at)s::bigint) END

-- name: insert_feedback
INSERT INTO feedback (tenant, memory, useful, query, at)
VALUES (%(tenant)s, %(key)s, %(useful)s, %(query)s, %(at)s)

-- name: feedback_after
SELECT f.memory, f.id, m.id, f.useful, f.query, f.at FROM feedback AS f
JOIN memories AS m ON m.tenant = f.tenant AND m.key = f.memory
WHERE f.tenant = %(tenant)s AND (f.memory, f.id) > (%(memory)s, %(after)s)
AND (%(partition)s::bigint IS NULL OR m.partition = %(partition)s)
ORDER BY f.memory, f.id LIMIT %(most)s

-- name: trim_feedback
WITH said AS (
    SELECT f.memory, f.id, f.at, m.partition, row_number() OVER (
        PARTITION BY f.memory, f.query, f.useful ORDER BY f.at DESC, f.id DESC
    ) > 1 AS again
    FROM feedback AS f JOIN memories AS m ON m.tenant = f.tenant AND m.key = f.memory
    WHERE f.tenant = %(tenant)s
), placed AS (
    SELECT memory, id, row_number() OVER (
        PARTITION BY partition ORDER BY again, at DESC, id DESC
    ) AS place FROM said
)
DELETE FROM feedback AS f USING placed AS p
WHERE f.tenant = %(tenant)s AND f.memory = p.memory AND f.id = p.id AND p.place > %(keep)s
RETURNING f.id

-- name: receipt
SELECT digest, ids FROM receipts WHERE tenant = %(tenant)s AND key IN (%(key)s, %(left)s)

-- name: receipts_between
SELECT key, ids FROM receipts
WHERE tenant = %(tenant)s AND at BETWEEN %(first)s AND %(last)s AND ids && %(ids)s

-- name: erase_receipt
UPDATE receipts SET key = %(left)s, digest = '', ids = ARRAY[]::uuid[]
WHERE tenant = %(tenant)s AND key = %(key)s

-- name: holdings
SELECT
    (SELECT count(*) FROM memories WHERE tenant = %(tenant)s AND key = ANY(%(keys)s))
    + (SELECT count(*) FROM history WHERE tenant = %(tenant)s AND memory = ANY(%(keys)s)),
    (SELECT count(*) FROM pieces
        WHERE tenant = %(tenant)s AND partition = ANY(%(partitions)s) AND memory = ANY(%(keys)s)),
    (SELECT count(*) FROM links WHERE tenant = %(tenant)s
        AND (source = ANY(%(keys)s) OR target = ANY(%(keys)s))),
    (SELECT count(*) FROM claims WHERE tenant = %(tenant)s AND memory = ANY(%(keys)s)),
    (SELECT count(*) FROM mentions WHERE tenant = %(tenant)s AND memory = ANY(%(keys)s)),
    (SELECT count(*) FROM feedback WHERE tenant = %(tenant)s AND memory = ANY(%(keys)s))

-- name: insert_receipt
INSERT INTO receipts (tenant, key, digest, ids, at)
VALUES (%(tenant)s, %(key)s, %(digest)s, %(ids)s, %(at)s)
