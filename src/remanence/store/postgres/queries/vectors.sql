-- name: embedder
SELECT id FROM embedders WHERE fingerprint = %(fingerprint)s

-- name: embedders
SELECT name, digest, dimension, pooling, codes FROM embedders WHERE employers > 0 ORDER BY id

-- name: insert_embedder
INSERT INTO embedders (fingerprint, name, digest, dimension, pooling, codes)
VALUES (%(fingerprint)s, %(name)s, %(digest)s, %(dimension)s, %(pooling)s, %(codes)s)
ON CONFLICT (fingerprint) DO NOTHING

-- name: employed
SELECT e.fingerprint, e.id FROM employed JOIN embedders AS e ON e.id = embedder
WHERE tenant = %(tenant)s

-- name: employed_embedder
SELECT embedder FROM employed WHERE tenant = %(tenant)s
AND embedder = (SELECT id FROM embedders WHERE fingerprint = %(fingerprint)s)

-- name: lock_writers
SELECT pg_advisory_xact_lock(%(own)s)

-- name: employ
WITH new AS (
    INSERT INTO employed (tenant, embedder) VALUES (%(tenant)s, %(embedder)s)
    ON CONFLICT DO NOTHING RETURNING embedder
)
UPDATE embedders SET employers = employers + 1 FROM new WHERE id = new.embedder RETURNING id

-- name: await_everything
INSERT INTO pending (tenant, embedder, memory)
SELECT %(tenant)s, %(embedder)s, key FROM memories WHERE tenant = %(tenant)s
ON CONFLICT DO NOTHING

-- name: insert_pending
INSERT INTO pending (tenant, embedder, memory)
SELECT %(tenant)s, embedder, memory FROM unnest(%(embedders)s, %(keys)s) AS new (embedder, memory)
ON CONFLICT DO NOTHING

-- name: delete_pending
DELETE FROM pending AS w USING unnest(%(embedders)s, %(keys)s) AS old (embedder, memory)
WHERE w.tenant = %(tenant)s AND w.embedder = old.embedder AND w.memory = old.memory

-- name: insert_pieces
INSERT INTO pieces (tenant, partition, embedder, memory, part, passage, start, stop, vector, codes)
SELECT %(tenant)s, new.* FROM unnest(
    %(partitions)s, %(embedders)s, %(keys)s, %(parts)s, %(passages)s, %(starts)s, %(stops)s,
    %(vectors)s, %(codes)s
) AS new

-- name: insert_vectors
INSERT INTO vectors (tenant, partition, embedder, memory, part, embedding)
SELECT %(tenant)s, new.* FROM unnest(
    %(partitions)s, %(embedders)s, %(keys)s, %(parts)s, %(embeddings)s
) AS new

-- name: delete_pieces
DELETE FROM pieces AS p USING {old_pieces} RETURNING 1

-- name: delete_vectors
DELETE FROM vectors AS p USING {old_pieces}

-- name: old_pieces
unnest(%(partitions)s, %(embedders)s, %(keys)s) AS old (partition, embedder, memory)
WHERE p.tenant = %(tenant)s AND p.partition = old.partition
AND p.embedder = old.embedder AND p.memory = old.memory

-- name: pieces
SELECT memory, part, start, stop, passage, vector, codes FROM pieces
WHERE tenant = %(tenant)s AND partition = %(partition)s AND embedder = %(embedder)s
AND memory = ANY(%(keys)s) ORDER BY memory, part

-- name: vectors_after
SELECT memory, part, vector FROM pieces
WHERE tenant = %(tenant)s AND partition = %(partition)s AND embedder = %(embedder)s
AND (memory, part) > (%(after)s, %(part)s) ORDER BY memory, part LIMIT %(most)s

-- name: unembedded
SELECT {record} FROM pending AS w JOIN memories AS m ON m.tenant = w.tenant AND m.key = w.memory
LEFT JOIN uses AS u ON u.tenant = m.tenant AND u.memory = m.key
WHERE w.tenant = %(tenant)s AND w.embedder = %(embedder)s ORDER BY w.memory LIMIT %(most)s

-- name: count_pending
SELECT count(*) FROM pending WHERE tenant = %(tenant)s AND embedder = %(embedder)s

-- name: count_of_tenant
SELECT count(*) FROM memories WHERE tenant = %(tenant)s

-- name: lock_keys
SELECT m.key, m.partition, {text} FROM memories AS m
WHERE m.tenant = %(tenant)s AND m.key = ANY(%(keys)s) ORDER BY m.key FOR UPDATE

-- name: embedded_keys
SELECT DISTINCT memory FROM pieces
WHERE tenant = %(tenant)s AND partition = %(partition)s AND embedder = %(embedder)s LIMIT %(most)s

-- name: unemploy
WITH old AS (
    DELETE FROM employed WHERE tenant = %(tenant)s AND embedder = %(embedder)s RETURNING embedder
)
UPDATE embedders SET employers = employers - 1, indexed = indexed AND employers > 1
FROM old WHERE id = old.embedder

-- name: delete_queue
DELETE FROM pending WHERE tenant = %(tenant)s AND embedder = %(embedder)s
