-- name: employed_embedder
SELECT id FROM embedders WHERE fingerprint = :fingerprint

-- name: embedders
SELECT name, digest, dimension, pooling, codes FROM embedders ORDER BY id

-- name: insert_embedder
INSERT INTO embedders (fingerprint, name, digest, dimension, pooling, codes)
VALUES (?, ?, ?, ?, ?, ?) RETURNING id

-- name: other_embedders
SELECT id FROM embedders WHERE fingerprint != ?

-- name: insert_piece
INSERT INTO pieces (place, passage, start, stop, vector, codes) VALUES (?, ?, ?, ?, ?, ?)

-- name: delete_pieces
DELETE FROM pieces WHERE place BETWEEN ? AND ?

-- name: pieces
-- All in one row, so that reading them is one call: between two rows another thread may take over.
-- group_concat adds up bytes as they are, which is why the result is a blob again.
SELECT
    group_concat(format('%d,%d,%d,%d,%d,%d',
        p.place, p.start, p.stop, p.passage, octet_length(p.vector), octet_length(p.codes))),
    CAST(group_concat(p.vector, '') AS BLOB),
    CAST(group_concat(p.codes, '') AS BLOB)
FROM embedders AS e
CROSS JOIN carray(:keys) AS wanted
CROSS JOIN pieces AS p ON p.place BETWEEN
    (wanted.value << 24) | (e.id << 14) AND (wanted.value << 24) | (e.id << 14) | 0x3FFF
WHERE e.fingerprint = :embedder

-- name: vectors_of
SELECT place >> 24, place & 0x3FFF, vector
FROM carray(?) AS wanted
CROSS JOIN pieces ON place BETWEEN wanted.value AND wanted.value + 0x3FFF

-- name: await_everything
INSERT INTO pending (embedder, memory) SELECT ?, key FROM memories

-- name: await_embedders
INSERT OR IGNORE INTO pending (embedder, memory) SELECT id, ? FROM embedders

-- name: embedded
DELETE FROM pending WHERE embedder = ? AND memory = ?

-- name: stop_awaiting
DELETE FROM pending WHERE memory = ? AND embedder IN (SELECT id FROM embedders)

-- name: unembedded
SELECT {record} FROM pending AS w
CROSS JOIN memories AS m ON m.key = w.memory
LEFT JOIN uses AS u ON u.memory = m.key
WHERE w.embedder = :embedder AND m.partition IN (SELECT id FROM partitions WHERE tenant = :tenant)
ORDER BY w.memory LIMIT :most

-- name: count_unembedded
SELECT count(*) FROM pending WHERE embedder = ?

-- name: count_memories
SELECT count(*) FROM memories

-- name: count_of_tenant
SELECT count(*) FROM memories AS m WHERE {of_tenant}

-- name: partition_if_text
SELECT m.partition FROM memories AS m WHERE m.key = ? AND {text} = ?
AND m.partition IN (SELECT id FROM partitions WHERE tenant = ?)

-- name: keys_embedded
SELECT group_concat(key) FROM (
    SELECT m.key FROM memories AS m WHERE m.key > :after AND {of_tenant} AND EXISTS (
        SELECT 1 FROM pieces WHERE place BETWEEN
            (m.key << 24) | (:embedder << 14) AND (m.key << 24) | (:embedder << 14) | 0x3FFF
    )
    ORDER BY m.key LIMIT :most
)

-- name: count_places
SELECT count(*) FROM carray(?) AS wanted
CROSS JOIN pieces ON place BETWEEN wanted.value AND wanted.value + 0x3FFF

-- name: delete_places
DELETE FROM pieces WHERE place IN (
    SELECT place FROM carray(?) AS wanted
    CROSS JOIN pieces ON place BETWEEN wanted.value AND wanted.value + 0x3FFF
)

-- name: await_again
INSERT OR IGNORE INTO pending (embedder, memory) SELECT ?, value FROM carray(?)

-- name: delete_unused_embedder
DELETE FROM embedders WHERE id = :embedder
AND NOT EXISTS (SELECT 1 FROM pieces WHERE (place >> 14) & 0x3FF = :embedder)

-- name: count_embedders
SELECT count(*) FROM embedders
