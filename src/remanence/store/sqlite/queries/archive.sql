-- name: record
m.key, m.partition, m.id, m.kind, m.state, m.happened_at, m.created_at, m.updated_at,
m.importance, m.trust, m.pinned, m.version, m.agent_id, m.session_id, m.role, m.speaker,
m.external_id, m.source, m.actor, m.origin, m.superseded_by, m.metadata, {text}, u.count, u.last

-- name: memories_and_uses
memories AS m LEFT JOIN uses AS u ON u.memory = m.key

-- name: insert_memory
INSERT INTO memories (
    id, partition, kind, state, happened_at, created_at, updated_at, terms, characters, flags,
    said_from, said_to, importance, trust, pinned, version, agent_id, session_id, role, speaker,
    external_id, source, actor, origin, superseded_by, digest, metadata, text
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: update_memory
UPDATE memories SET
    id = ?, partition = ?, kind = ?, state = ?, happened_at = ?, created_at = ?, updated_at = ?,
    terms = ?, characters = ?, flags = ?, said_from = ?, said_to = ?, importance = ?, trust = ?,
    pinned = ?, version = ?, agent_id = ?, session_id = ?, role = ?, speaker = ?, external_id = ?,
    source = ?, actor = ?, origin = ?, superseded_by = ?, digest = ?, metadata = ?, text = ?
WHERE key = ?

-- name: delete_memory
DELETE FROM memories WHERE key = ?

-- name: memory_by_id
SELECT {record}, m.digest FROM {memories_and_uses} WHERE m.id IN (?, ?)

-- name: memory_and_derived
SELECT {record}, m.terms, m.characters, m.flags, m.said_from, m.said_to
FROM {memories_and_uses} WHERE m.id IN (?, ?)

-- name: places_by_id
SELECT w.id, w.partition, w.key FROM {wanted_memories}

-- name: key_by_id
SELECT partition, key FROM memories WHERE id IN (?, ?)

-- name: find_newest
SELECT {record} FROM {memories_and_uses} WHERE {condition}
ORDER BY m.happened_at DESC, m.key DESC LIMIT ? OFFSET ?

-- name: find_oldest
SELECT {record} FROM {memories_and_uses} WHERE {condition}
ORDER BY m.happened_at, m.key LIMIT ? OFFSET ?

-- name: records_by_key
SELECT {record} FROM carray(:keys) AS wanted
CROSS JOIN memories AS m ON m.key = wanted.value LEFT JOIN uses AS u ON u.memory = m.key

-- name: count
SELECT count(*) FROM memories AS m WHERE {condition}

-- name: spans
SELECT m.partition, m.session_id, count(*), min(m.happened_at), max(m.happened_at) AS last
FROM memories AS m WHERE {condition} AND {is_active_message} AND m.session_id IS NOT NULL
GROUP BY m.partition, m.session_id ORDER BY last DESC, m.session_id, m.partition LIMIT ? OFFSET ?

-- name: is_active_message
m.kind = 1 AND m.state = 1

-- name: versions
SELECT m.id, m.version FROM carray(:keys) AS wanted
CROSS JOIN memories AS m ON m.key = wanted.value
WHERE m.state = 1

-- name: scan
SELECT {record} FROM {memories_and_uses}
WHERE m.key > :after AND m.partition IN (SELECT id FROM partitions WHERE tenant = :tenant)
ORDER BY m.key LIMIT :most

-- name: insert_words
INSERT INTO words (rowid, terms) VALUES (?, ?)

-- name: delete_words
-- Given its terms, FTS5 need not make them from the text, with the file locked meanwhile.
INSERT INTO words (words, rowid, terms) VALUES ('delete', ?, ?)

-- name: insert_label
INSERT OR IGNORE INTO labels (partition, name, value, memory) VALUES (?, ?, ?, ?)

-- name: delete_label
DELETE FROM labels WHERE partition = ? AND name = ? AND value = ? AND memory = ?

-- name: insert_change
INSERT INTO changes (partition, memory) VALUES (?, ?)

-- name: insert_history
INSERT INTO history (memory, version, verb, at, actor, reason, before) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: history
SELECT version, verb, at, actor, reason, before FROM history WHERE memory = :key ORDER BY version

-- name: receipt
SELECT digest, ids FROM receipts WHERE tenant = :tenant AND key IN (:key, :left)

-- name: receipts_between
SELECT key, ids FROM receipts WHERE tenant = :tenant AND at BETWEEN :first AND :last

-- name: erase_receipt
UPDATE receipts SET key = :left, digest = x'', ids = x''
WHERE tenant = :tenant AND key = :key

-- name: holdings
SELECT
    (SELECT count(*) FROM carray(:keys) AS w CROSS JOIN memories AS m ON m.key = w.value)
    + (SELECT count(*) FROM carray(:keys) AS w CROSS JOIN history AS h ON h.memory = w.value),
    (SELECT count(*) FROM carray(:keys) AS w CROSS JOIN pieces AS p
        ON p.place BETWEEN w.value << 24 AND ((w.value + 1) << 24) - 1),
    (SELECT count(*) FROM (
        SELECT source, type, target FROM carray(:keys) AS w CROSS JOIN links ON source = w.value
        UNION
        SELECT source, type, target FROM carray(:keys) AS w CROSS JOIN links ON target = w.value
    )),
    (SELECT count(*) FROM carray(:keys) AS w CROSS JOIN claims AS c ON c.memory = w.value),
    (SELECT count(*) FROM carray(:keys) AS w CROSS JOIN mentions AS n ON n.memory = w.value),
    (SELECT count(*) FROM carray(:keys) AS w CROSS JOIN feedback AS f ON f.memory = w.value)

-- name: insert_receipt
INSERT INTO receipts (tenant, key, digest, ids, at)
VALUES (:tenant, :key, :digest, :ids, :at)

-- name: note_use
INSERT INTO uses (memory, count, last) VALUES (?, ?, ?)
ON CONFLICT (memory) DO UPDATE SET
    count = count + excluded.count,
    last = max(coalesce(last, excluded.last), excluded.last)

-- name: move_uses
INSERT INTO uses (memory, count, last) VALUES (:key, max(0, :uses), :at)
ON CONFLICT (memory) DO UPDATE SET
    count = max(0, count + :uses),
    last = CASE WHEN last = :instead THEN :at
        ELSE max(coalesce(last, :at), coalesce(:at, last)) END

-- name: insert_feedback
INSERT INTO feedback (memory, useful, query, at) VALUES (:key, :useful, :query, :at)

-- name: feedback_after
SELECT f.memory, f.id, m.id, f.useful, f.query, f.at FROM feedback AS f
JOIN memories AS m ON m.key = f.memory
WHERE (f.memory, f.id) > (:memory, :after)
AND m.partition IN (SELECT id FROM partitions WHERE tenant = :tenant)
AND (:partition IS NULL OR m.partition = :partition) ORDER BY f.memory, f.id LIMIT :most

-- name: trim_feedback
DELETE FROM feedback WHERE id IN (
    SELECT id FROM (
        SELECT id, row_number() OVER (
            PARTITION BY partition ORDER BY said, at DESC, id DESC
        ) AS place FROM (
            SELECT f.id, f.at, m.partition, row_number() OVER (
                PARTITION BY f.memory, f.query, f.useful ORDER BY f.at DESC, f.id DESC
            ) > 1 AS said
            FROM feedback AS f JOIN memories AS m ON m.key = f.memory
            WHERE m.partition IN (SELECT id FROM partitions WHERE tenant = :tenant)
        )
    ) WHERE place > :keep
) RETURNING id

-- name: partition
SELECT id FROM partitions WHERE tenant = ? AND user_id = ?

-- name: partitions_of_tenant
SELECT id, user_id FROM partitions WHERE tenant = :tenant ORDER BY id

-- name: tenants
SELECT tenant FROM partitions UNION SELECT tenant FROM documents ORDER BY tenant

-- name: partition_names
SELECT tenant, user_id FROM partitions WHERE id = ?

-- name: insert_partition
INSERT INTO partitions (tenant, user_id) VALUES (?, ?) RETURNING id

-- name: meta
SELECT value FROM meta WHERE name = ?

-- name: set_meta
INSERT INTO meta (name, value) VALUES (?, ?)
ON CONFLICT (name) DO UPDATE SET value = excluded.value
