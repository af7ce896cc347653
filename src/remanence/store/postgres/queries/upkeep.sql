-- name: count_by_kind
SELECT kind, count(*) FROM memories WHERE tenant = %(tenant)s GROUP BY kind

-- name: count_by_state
SELECT state, count(*) FROM memories WHERE tenant = %(tenant)s GROUP BY state

-- name: count_by_day
SELECT to_char(to_timestamp(created_at / 1000000) AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, count(*)
FROM memories WHERE tenant = %(tenant)s GROUP BY day ORDER BY day DESC LIMIT 30

-- name: count_links
SELECT count(*) FROM links WHERE tenant = %(tenant)s

-- name: newest_employed
SELECT max(embedder) FROM employed WHERE tenant = %(tenant)s

-- name: bytes_by_table
SELECT coalesce(p.relname, c.relname) AS whole, sum(pg_total_relation_size(c.oid))::bigint
FROM pg_class AS c LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid
LEFT JOIN pg_class AS p ON p.oid = i.inhparent
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'
GROUP BY whole ORDER BY whole

-- name: unwalled
SELECT c.relname FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'tenant'
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
AND NOT (c.relrowsecurity AND c.relforcerowsecurity AND EXISTS (
    SELECT 1 FROM pg_policy AS w WHERE w.polrelid = c.oid AND w.polname = 'wall'
    AND w.polcmd = '*' AND w.polpermissive AND w.polqual IS NOT NULL
    AND w.polwithcheck IS NOT NULL
) AND 1 = (SELECT count(*) FROM pg_policy AS w WHERE w.polrelid = c.oid)) ORDER BY c.relname

-- name: walls_off
SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user

-- name: tenant_numbers
SELECT id FROM tenants ORDER BY id

-- name: guarded_rows
SELECT {record}, m.digest FROM {memories_and_uses}
WHERE m.tenant = %(tenant)s AND m.key > %(after)s ORDER BY m.key LIMIT %(most)s

-- name: id_of
SELECT id FROM memories WHERE tenant = %(tenant)s AND key = %(key)s

-- name: guarded_row
SELECT {record}, m.digest FROM {memories_and_uses}
WHERE m.tenant = %(tenant)s AND m.key = %(key)s FOR UPDATE OF m

-- name: rewrite_row
UPDATE memories SET kind = %(kind)s, state = %(state)s, happened_at = %(happened_at)s,
    created_at = %(created_at)s, updated_at = %(updated_at)s, importance = %(importance)s,
    trust = %(trust)s, pinned = %(pinned)s, version = %(version)s,
    superseded_by = %(superseded_by)s::uuid, metadata = %(metadata)s, digest = %(digest)s
WHERE tenant = %(tenant)s AND key = %(key)s

-- name: texts_after
SELECT m.key, m.partition, {text}, m.happened_at FROM memories AS m
WHERE m.tenant = %(tenant)s AND m.key > %(after)s ORDER BY m.key LIMIT %(most)s

-- name: count_words
SELECT count(*) FROM words WHERE tenant = %(tenant)s

-- name: count_these_words
SELECT count(*) FROM unnest(%(terms)s, %(places)s) AS asked (term, place)
JOIN words AS w ON w.tenant = %(tenant)s AND w.term = asked.term AND w.place = asked.place

-- name: delete_every_word
DELETE FROM words WHERE tenant = %(tenant)s

-- name: recount_words
UPDATE memories AS m SET terms = new.terms, characters = new.characters, flags = new.flags,
    said_from = new.said_from, said_to = new.said_to
FROM unnest(
    %(keys)s, %(terms)s, %(characters)s, %(flags)s, %(said_from)s, %(said_to)s
) AS new (key, terms, characters, flags, said_from, said_to)
WHERE m.tenant = %(tenant)s AND m.key = new.key

-- name: metadata_after
SELECT key, partition, metadata FROM memories
WHERE tenant = %(tenant)s AND key > %(after)s AND metadata IS NOT NULL ORDER BY key LIMIT %(most)s

-- name: count_labels
SELECT count(*) FROM labels WHERE tenant = %(tenant)s

-- name: count_these_labels
SELECT count(*)
FROM unnest(%(partitions)s, %(names)s, %(values)s, %(keys)s) AS asked (partition, name, value, memory)
JOIN labels AS l ON l.tenant = %(tenant)s AND l.partition = asked.partition AND l.name = asked.name
AND l.value = asked.value AND l.memory = asked.memory

-- name: delete_every_label
DELETE FROM labels WHERE tenant = %(tenant)s

-- name: is_stray_piece
p.tenant = %(tenant)s AND (NOT EXISTS (
    SELECT 1 FROM memories AS m
    WHERE m.tenant = p.tenant AND m.key = p.memory AND m.partition = p.partition
) OR NOT EXISTS (
    SELECT 1 FROM employed AS e WHERE e.tenant = p.tenant AND e.embedder = p.embedder
))

-- name: stray_pieces
SELECT count(*) FROM pieces AS p WHERE {is_stray_piece}

-- name: delete_stray_pieces
DELETE FROM pieces AS p WHERE {is_stray_piece}

-- name: is_misshapen
p.tenant = %(tenant)s AND (octet_length(p.codes) %% 16 <> 0
    AND (octet_length(p.codes) %% 8 <> 1 OR get_byte(p.codes, 0) <> 64)
OR NOT EXISTS (
    SELECT 1 FROM embedders AS e WHERE e.id = p.embedder AND {is_vector_of}
))

-- name: is_vector_of
(octet_length(p.vector) = 4 + e.dimension OR e.dimension >= 8
    AND octet_length(p.vector) IN (4 + (e.dimension + 1) / 2, 4 + (e.dimension + 7) / 8))

-- name: misshapen_pieces
SELECT count(*) FROM pieces AS p WHERE {is_misshapen}

-- name: await_misshapen
INSERT INTO pending (tenant, embedder, memory)
SELECT DISTINCT p.tenant, p.embedder, p.memory FROM pieces AS p WHERE {is_misshapen}
ON CONFLICT DO NOTHING

-- name: delete_misshapen
DELETE FROM pieces AS o USING pieces AS p
WHERE {is_misshapen} AND o.tenant = p.tenant AND o.partition = p.partition
AND o.embedder = p.embedder AND o.memory = p.memory

-- name: is_wrong_wait
w.tenant = %(tenant)s AND (NOT EXISTS (
    SELECT 1 FROM memories AS m WHERE m.tenant = w.tenant AND m.key = w.memory AND NOT EXISTS (
        SELECT 1 FROM pieces AS p JOIN embedders AS e ON e.id = p.embedder
        WHERE p.tenant = m.tenant AND p.partition = m.partition
        AND p.embedder = w.embedder AND p.memory = m.key
        AND octet_length(p.vector) = 4 + e.dimension AND octet_length(p.codes) %% 16 = 0
    )
) OR NOT EXISTS (
    SELECT 1 FROM employed AS e WHERE e.tenant = w.tenant AND e.embedder = w.embedder
))

-- name: wrong_waits
SELECT count(*) FROM pending AS w WHERE {is_wrong_wait}

-- name: delete_wrong_waits
DELETE FROM pending AS w WHERE {is_wrong_wait}

-- name: waits_missing
SELECT e.tenant, e.embedder, m.key FROM employed AS e JOIN memories AS m ON m.tenant = e.tenant
WHERE e.tenant = %(tenant)s AND NOT EXISTS (
    SELECT 1 FROM pieces AS p WHERE p.tenant = m.tenant AND p.partition = m.partition
    AND p.embedder = e.embedder AND p.memory = m.key
) AND NOT EXISTS (
    SELECT 1 FROM pending AS w
    WHERE w.tenant = m.tenant AND w.embedder = e.embedder AND w.memory = m.key
)

-- name: missing_waits
SELECT count(*) FROM ({waits_missing}) AS missing

-- name: insert_missing_waits
INSERT INTO pending (tenant, embedder, memory) {waits_missing}

-- name: of_nobody
tenant = %(tenant)s AND NOT EXISTS (
    SELECT 1 FROM memories AS m WHERE m.tenant = %(tenant)s AND m.key = memory
)

-- name: of_no_ends
tenant = %(tenant)s AND NOT (
    EXISTS (SELECT 1 FROM memories AS m WHERE m.tenant = %(tenant)s AND m.key = links.source)
    AND EXISTS (SELECT 1 FROM memories AS m WHERE m.tenant = %(tenant)s AND m.key = links.target)
)

-- name: orphan_rows
SELECT (SELECT count(*) FROM history WHERE {of_nobody})
    + (SELECT count(*) FROM uses WHERE {of_nobody})
    + (SELECT count(*) FROM feedback WHERE {of_nobody})
    + (SELECT count(*) FROM links WHERE {of_no_ends})

-- name: delete_orphan_history
DELETE FROM history WHERE {of_nobody}

-- name: delete_orphan_uses
DELETE FROM uses WHERE {of_nobody}

-- name: delete_orphan_feedback
DELETE FROM feedback WHERE {of_nobody}

-- name: delete_orphan_links
DELETE FROM links WHERE {of_no_ends}

-- name: unannounced
SELECT m.partition, m.key FROM memories AS m WHERE m.tenant = %(tenant)s AND NOT EXISTS (
    SELECT 1 FROM changes AS c
    WHERE c.tenant = m.tenant AND c.partition = m.partition AND c.memory = m.key
)

-- name: count_unannounced
SELECT (SELECT count(*) FROM ({unannounced}) AS missing) + (SELECT count(*) FROM {lagging} AS p)

-- name: lagging
(
    SELECT p.id FROM partitions AS p WHERE p.tenant = %(tenant)s AND p.position < (
        SELECT max(seq) FROM changes AS c WHERE c.tenant = p.tenant AND c.partition = p.id
    )
)

-- name: move_lagging
UPDATE partitions AS p SET position = (
    SELECT max(seq) FROM changes AS c WHERE c.tenant = p.tenant AND c.partition = p.id
) WHERE p.tenant = %(tenant)s AND p.id IN {lagging}

-- name: is_miscounted
p.tenant = %(tenant)s AND p.memories <> (
    SELECT count(*) FROM memories AS m WHERE m.tenant = p.tenant AND m.partition = p.id
)

-- name: miscounted
SELECT count(*) FROM partitions AS p WHERE {is_miscounted}

-- name: recount_memories
UPDATE partitions AS p SET memories = (
    SELECT count(*) FROM memories AS m WHERE m.tenant = p.tenant AND m.partition = p.id
) WHERE {is_miscounted}

-- name: same_piece
v.tenant = p.tenant AND v.partition = p.partition AND v.embedder = p.embedder
AND v.memory = p.memory AND v.part = p.part
AND vector_dims(v.embedding) = (SELECT dimension FROM embedders AS e WHERE e.id = p.embedder)

-- name: is_stray_vector
v.tenant = %(tenant)s AND NOT EXISTS (SELECT 1 FROM pieces AS p WHERE {same_piece})

-- name: lacks_vector
p.tenant = %(tenant)s AND NOT EXISTS (SELECT 1 FROM vectors AS v WHERE {same_piece})
AND EXISTS (SELECT 1 FROM embedders AS e WHERE e.id = p.embedder AND {is_vector_of})

-- name: wrong_vectors
SELECT (SELECT count(*) FROM vectors AS v WHERE {is_stray_vector})
    + (SELECT count(*) FROM pieces AS p WHERE {lacks_vector})

-- name: delete_stray_vectors
DELETE FROM vectors AS v WHERE {is_stray_vector}

-- name: pieces_without_vector
SELECT p.partition, p.embedder, p.memory, p.part, p.vector,
    (SELECT dimension FROM embedders AS e WHERE e.id = p.embedder)
FROM pieces AS p WHERE {lacks_vector} LIMIT %(most)s

-- name: every_table
SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace
AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname

-- name: clear_samples
SELECT pg_clear_attribute_stats(current_schema()::text, c.relname::text, a.attname::text, whole)
FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
CROSS JOIN (VALUES (true), (false)) AS of (whole)
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
AND a.attnum > 0 AND NOT a.attisdropped

-- name: trim_feed
DELETE FROM changes AS c USING (
    SELECT partition, seq, max(seq) OVER (PARTITION BY partition, memory) AS newest
    FROM changes WHERE tenant = %(tenant)s
) AS f
WHERE c.tenant = %(tenant)s AND c.partition = f.partition AND c.seq = f.seq AND f.seq < f.newest

-- name: changed_tables
SELECT s.relname, p.relname FROM pg_stat_user_tables AS s
LEFT JOIN pg_inherits AS i ON i.inhrelid = s.relid LEFT JOIN pg_class AS p ON p.oid = i.inhparent
WHERE s.schemaname = current_schema()
AND greatest(s.n_dead_tup, s.n_mod_since_analyze) > %(rows)s + %(share)s * s.n_live_tup
ORDER BY s.relname

-- name: half_made
SELECT g.relname FROM pg_index AS x JOIN pg_class AS g ON g.oid = x.indexrelid
WHERE g.relnamespace = current_schema()::regnamespace AND NOT x.indisvalid
AND g.relname ~ '_cc(new|old)[0-9]*$'

-- name: bloated_indexes
-- Known only of columns of one width: an entry has 16 bytes besides them, a page is 9/10 full.
SELECT g.relname FROM pg_index AS x JOIN pg_class AS g ON g.oid = x.indexrelid
JOIN pg_am AS m ON m.oid = g.relam AND m.amname = 'btree'
WHERE g.relnamespace = current_schema()::regnamespace AND g.relkind = 'i'
AND x.indisvalid AND g.reltuples >= 0 AND pg_relation_size(g.oid) > %(bytes)s
AND pg_relation_size(g.oid) > %(bloated)s / 0.9 * g.reltuples * (
    SELECT 16 + sum(a.attlen) FROM pg_attribute AS a WHERE a.attrelid = g.oid
)
AND NOT EXISTS (SELECT 1 FROM pg_attribute AS a WHERE a.attrelid = g.oid AND a.attlen < 0)
ORDER BY g.relname

-- name: use_of_tenant
SELECT
    (SELECT count(*) FROM memories WHERE tenant = %(tenant)s)::bigint,
    (SELECT coalesce(sum(octet_length(text) + coalesce(octet_length(metadata), 0)), 0)
        FROM memories WHERE tenant = %(tenant)s)::bigint
    + (SELECT coalesce(sum(octet_length(before)), 0) FROM history
        WHERE tenant = %(tenant)s)::bigint
    + (SELECT coalesce(sum(octet_length(value)), 0) FROM documents
        WHERE tenant = %(tenant)s AND shelf = ANY (%(shelves)s))::bigint
    + (SELECT coalesce(sum(octet_length(e.value)), 0) FROM documents AS d
        JOIN editions AS e ON e.tenant = d.tenant AND e.document = d.key
        WHERE d.tenant = %(tenant)s AND d.shelf = ANY (%(shelves)s))::bigint

-- name: mark_of_tenant
SELECT coalesce(sum(position), 0)::bigint FROM partitions WHERE tenant = %(tenant)s
