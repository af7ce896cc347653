-- name: recount_words
UPDATE memories SET terms = remanence_length(text), flags = remanence_flags(text),
    said_from = remanence_said_from(text, happened_at),
    said_to = remanence_said_to(text, happened_at)

-- name: rebuild_words
INSERT INTO words (words) VALUES ('rebuild')

-- name: check_words
PRAGMA integrity_check(words)

-- name: every_word
SELECT term, doc, "offset" FROM words_terms

-- name: words_of_rows
SELECT key, terms FROM memory_words

-- name: texts_to_word
SELECT key, digest, partition, remanence_text(text), happened_at FROM memories WHERE key > ?
ORDER BY key LIMIT ?

-- name: every_digest
SELECT key, digest FROM memories

-- name: empty_words
INSERT INTO words (words) VALUES ('delete-all')

-- name: recount_row
UPDATE memories SET terms = :terms, flags = :flags, said_from = :said_from, said_to = :said_to
WHERE key = :key AND (terms, flags, said_from, said_to)
    IS NOT (:terms, :flags, :said_from, :said_to)

-- name: keys_from
SELECT key FROM memories WHERE key > ? ORDER BY key LIMIT ?

-- name: guarded_rows
SELECT {record}, m.digest FROM {memories_and_uses} WHERE m.key > ? AND m.key <= ? ORDER BY m.key

-- name: orphan_pieces
SELECT count(*) FROM pieces WHERE {is_orphan_piece}

-- name: delete_orphan_pieces
DELETE FROM pieces WHERE {is_orphan_piece}

-- name: is_orphan_piece
NOT EXISTS (SELECT 1 FROM memories WHERE key = place >> 24)
OR NOT EXISTS (SELECT 1 FROM embedders WHERE id = (place >> 14) & 0x3FF)

-- name: misshapen_pieces
SELECT count(*) FROM pieces WHERE {is_misshapen}

-- name: delete_misshapen_pieces
INSERT OR IGNORE INTO pending (embedder, memory)
SELECT (place >> 14) & 0x3FF, place >> 24 FROM pieces WHERE {is_misshapen};
DELETE FROM pieces WHERE (place >> 14) IN (SELECT place >> 14 FROM pieces WHERE {is_misshapen})

-- name: is_misshapen
length(codes) % 16 != 0 AND (length(codes) % 8 != 1 OR substr(codes, 1, 1) != x'40')
OR NOT EXISTS (
    SELECT 1 FROM embedders WHERE id = (place >> 14) & 0x3FF AND (
        length(vector) = 4 + dimension OR dimension >= 8
        AND length(vector) IN (4 + (dimension + 1) / 2, 4 + (dimension + 7) / 8)
    )
)

-- name: is_wrong_wait
EXISTS (SELECT 1 FROM pieces AS p JOIN embedders AS e ON e.id = embedder WHERE p.place BETWEEN
    (memory << 24) | (embedder << 14) AND (memory << 24) | (embedder << 14) | 0x3FFF
    AND length(p.vector) = 4 + e.dimension AND length(p.codes) % 16 = 0)
OR NOT EXISTS (SELECT 1 FROM memories WHERE key = memory)

-- name: wrong_waits
SELECT count(*) FROM pending WHERE {is_wrong_wait}

-- name: delete_wrong_waits
DELETE FROM pending WHERE {is_wrong_wait}

-- name: waits_missing
SELECT e.id, m.key FROM embedders AS e CROSS JOIN memories AS m
WHERE NOT EXISTS (SELECT 1 FROM pieces WHERE place BETWEEN
    (m.key << 24) | (e.id << 14) AND (m.key << 24) | (e.id << 14) | 0x3FFF)
AND NOT EXISTS (SELECT 1 FROM pending WHERE embedder = e.id AND memory = m.key)

-- name: missing_waits
SELECT count(*) FROM ({waits_missing})

-- name: insert_missing_waits
INSERT INTO pending (embedder, memory) {waits_missing}

-- name: is_orphan
NOT IN (SELECT key FROM memories)

-- name: orphan_rows
SELECT (SELECT count(*) FROM history WHERE memory {is_orphan})
    + (SELECT count(*) FROM uses WHERE memory {is_orphan})
    + (SELECT count(*) FROM feedback WHERE memory {is_orphan})
    + (SELECT count(*) FROM links WHERE source {is_orphan} OR target {is_orphan})

-- name: delete_orphan_rows
DELETE FROM history WHERE memory {is_orphan};
DELETE FROM uses WHERE memory {is_orphan};
DELETE FROM feedback WHERE memory {is_orphan};
DELETE FROM links WHERE source {is_orphan} OR target {is_orphan}

-- name: every_metadata
SELECT key, partition, metadata FROM memories WHERE metadata IS NOT NULL

-- name: unannounced
SELECT partition, key FROM memories WHERE key NOT IN (SELECT memory FROM changes)

-- name: count_unannounced
SELECT count(*) FROM ({unannounced})

-- name: announce_unannounced
INSERT INTO changes (partition, memory) {unannounced}

-- name: of_tenant
m.partition IN (SELECT id FROM partitions WHERE tenant = :tenant)

-- name: count_by_kind
SELECT m.kind, count(*) FROM memories AS m WHERE {of_tenant} GROUP BY m.kind

-- name: count_by_state
SELECT m.state, count(*) FROM memories AS m WHERE {of_tenant} GROUP BY m.state

-- name: count_by_day
SELECT date(m.created_at / 1000000, 'unixepoch') AS day, count(*) FROM memories AS m
WHERE {of_tenant} GROUP BY day ORDER BY day DESC LIMIT 30

-- name: count_links
SELECT count(*) FROM links JOIN memories AS m ON m.key = links.source WHERE {of_tenant}

-- name: newest_employed
SELECT max(id) FROM embedders

-- name: count_pending
SELECT count(*) FROM pending AS w CROSS JOIN memories AS m ON m.key = w.memory
WHERE w.embedder = :embedder AND {of_tenant}

-- name: bytes_by_part
SELECT name, sum(pgsize) FROM dbstat WHERE aggregate = TRUE GROUP BY name

-- name: every_partition
SELECT id, tenant, user_id FROM partitions

-- name: raw_row
SELECT key, partition, id, kind, state, happened_at, created_at, updated_at, importance, trust,
    pinned, version, CAST(agent_id AS BLOB), CAST(session_id AS BLOB), CAST(role AS BLOB),
    CAST(speaker AS BLOB), CAST(external_id AS BLOB), CAST(source AS BLOB), CAST(actor AS BLOB),
    CAST(origin AS BLOB), superseded_by, CAST(metadata AS BLOB),
    CASE typeof(text) WHEN 'blob' THEN remanence_readable(text) ELSE CAST(text AS BLOB) END
FROM memories WHERE key = ?

-- name: rewrite_raw_row
UPDATE memories SET kind = ?, state = ?, happened_at = ?, created_at = ?, updated_at = ?,
    importance = ?, trust = ?, pinned = ?, version = ?, agent_id = ?, session_id = ?, role = ?,
    speaker = ?, external_id = ?, source = ?, actor = ?, origin = ?, superseded_by = ?,
    metadata = ?, text = ?, digest = ?
WHERE key = ?

-- name: id_of
SELECT id FROM memories WHERE key = :key

-- name: every_label
SELECT partition, name, value, memory FROM labels

-- name: metadata_of
SELECT metadata FROM memories WHERE key = ? AND partition = ?

-- name: merge_words
INSERT INTO words (words, rank) VALUES ('merge', ?)

-- name: feed
SELECT seq, memory FROM changes WHERE partition = ? ORDER BY seq

-- name: delete_change
DELETE FROM changes WHERE seq = ?

-- name: use_of_tenant
WITH own AS MATERIALIZED (SELECT id FROM partitions WHERE tenant = :tenant)
SELECT
    (SELECT count(*) FROM memories WHERE partition IN own),
    (SELECT coalesce(sum(octet_length(text) + ifnull(octet_length(metadata), 0)), 0)
        FROM memories WHERE partition IN own)
    + (SELECT coalesce(sum(octet_length(h.before)), 0) FROM memories AS m
        JOIN history AS h ON h.memory = m.key WHERE m.partition IN own)
    + (SELECT coalesce(sum(octet_length(value)), 0) FROM documents
        WHERE tenant = :tenant AND shelf IN (SELECT value FROM carray(:shelves)))
    + (SELECT coalesce(sum(octet_length(e.value)), 0) FROM documents AS d
        JOIN editions AS e ON e.document = d.key
        WHERE d.tenant = :tenant AND d.shelf IN (SELECT value FROM carray(:shelves)))
