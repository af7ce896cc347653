-- name: text
coalesce(m.packed, '\x00'::bytea || convert_to(m.text, 'UTF8'))

-- name: dictionary
SELECT digest, body, spare FROM dictionaries WHERE tenant = %(tenant)s AND id = %(id)s

-- name: current_dictionary
SELECT id, among FROM dictionaries WHERE tenant = %(tenant)s AND tainted = 0
ORDER BY id DESC LIMIT 1

-- name: hold_dictionary
SELECT id FROM dictionaries WHERE tenant = %(tenant)s AND tainted = 0
ORDER BY id DESC LIMIT 1 FOR SHARE

-- name: insert_dictionary
INSERT INTO dictionaries (tenant, among, digest, body, spare)
VALUES (%(tenant)s, %(among)s, %(digest)s, %(body)s, %(body)s) RETURNING id

-- name: hold_sources
SELECT key FROM memories WHERE tenant = %(tenant)s AND key = ANY(%(keys)s)
ORDER BY key FOR KEY SHARE

-- name: insert_sources
INSERT INTO dictionary_sources (tenant, memory, dictionary)
SELECT %(tenant)s, key, %(dictionary)s FROM unnest(%(keys)s) AS made_of (key)

-- name: taint_dictionaries
UPDATE dictionaries SET tainted = 1 WHERE tenant = %(tenant)s AND id IN (
    SELECT dictionary FROM dictionary_sources
    WHERE tenant = %(tenant)s AND memory = ANY(%(keys)s)
)

-- name: delete_dictionary_sources
DELETE FROM dictionary_sources WHERE tenant = %(tenant)s AND memory = ANY(%(keys)s)

-- name: every_dictionary
SELECT id, digest, body, spare FROM dictionaries WHERE tenant = %(tenant)s ORDER BY id

-- name: mend_dictionary
UPDATE dictionaries SET body = %(body)s, spare = %(body)s
WHERE tenant = %(tenant)s AND id = %(id)s

-- name: tainted_dictionaries
SELECT id FROM dictionaries WHERE tenant = %(tenant)s AND tainted = 1 ORDER BY id

-- name: unused_dictionaries
SELECT d.id FROM dictionaries AS d WHERE d.tenant = %(tenant)s AND (d.tainted = 1 OR d.id < (
    SELECT max(n.id) FROM dictionaries AS n WHERE n.tenant = d.tenant AND n.tainted = 0
)) AND NOT EXISTS (
    SELECT 1 FROM memories AS m WHERE m.tenant = d.tenant AND m.dictionary = d.id
)

-- name: delete_dictionaries
WITH gone AS (
    DELETE FROM dictionaries WHERE tenant = %(tenant)s AND id = ANY(%(ids)s) RETURNING id
)
DELETE FROM dictionary_sources WHERE tenant = %(tenant)s AND dictionary IN (SELECT id FROM gone)

-- name: is_packable
m.tier < %s AND m.state <> 4 AND (m.state <> 1 OR greatest(m.happened_at, m.created_at, u.last) < %s)

-- name: keys_to_pack
SELECT ARRAY(
    SELECT m.key FROM {memories_and_uses} WHERE {condition} AND {is_packable}
    ORDER BY m.key LIMIT %s
)

-- name: count_to_pack
SELECT count(*) FROM {memories_and_uses} WHERE {condition} AND {is_packable}

-- name: keys_packed
SELECT ARRAY(
    SELECT m.key FROM memories AS m WHERE {condition} AND (m.tier > 0 OR m.packed IS NOT NULL)
    ORDER BY m.key LIMIT %s
)

-- name: keys_with_dictionary
SELECT ARRAY(
    SELECT key FROM memories WHERE tenant = %(tenant)s AND dictionary = %(dictionary)s
    LIMIT %(most)s
)

-- name: texts_of
SELECT m.key, {text} FROM memories AS m
WHERE m.tenant = %(tenant)s AND m.key = ANY(%(keys)s) ORDER BY m.key

-- name: hold_texts
SELECT m.key, m.packed IS NOT NULL, {text} FROM memories AS m
WHERE m.tenant = %(tenant)s AND m.key = ANY(%(keys)s) ORDER BY m.key FOR UPDATE

-- name: put_texts
UPDATE memories AS m SET text = new.text, packed = new.packed,
    dictionary = nullif(new.dictionary, 0)
FROM unnest(%(keys)s, %(texts)s, %(packed)s, %(dictionaries)s) AS new (key, text, packed, dictionary)
WHERE m.tenant = %(tenant)s AND m.key = new.key

-- name: put_tier
UPDATE memories SET tier = %(tier)s WHERE tenant = %(tenant)s AND key = ANY(%(keys)s)

-- name: make_hot
UPDATE memories SET tier = 0 WHERE tenant = %(tenant)s AND key = ANY(%(keys)s)

-- name: warm
UPDATE memories SET tier = 0 WHERE tenant = %(tenant)s AND key = ANY(%(keys)s) AND tier > 0

-- name: pieces_to_pack
SELECT p.partition, p.embedder, p.memory, p.part, p.vector, p.codes, e.dimension
FROM pieces AS p JOIN embedders AS e ON e.id = p.embedder
JOIN memories AS m ON m.tenant = p.tenant AND m.partition = p.partition AND m.key = p.memory
WHERE p.tenant = %(tenant)s AND m.key = ANY(%(keys)s)

-- name: put_pieces
UPDATE pieces AS p SET vector = new.vector, codes = new.codes
FROM unnest(
    %(partitions)s, %(embedders)s, %(keys)s, %(parts)s, %(vectors)s, %(codes)s
) AS new (partition, embedder, memory, part, vector, codes)
WHERE p.tenant = %(tenant)s AND p.partition = new.partition AND p.embedder = new.embedder
AND p.memory = new.memory AND p.part = new.part

-- name: await_fine
INSERT INTO pending (tenant, embedder, memory)
SELECT DISTINCT p.tenant, p.embedder, p.memory
FROM pieces AS p JOIN embedders AS e ON e.id = p.embedder
JOIN memories AS m ON m.tenant = p.tenant AND m.partition = p.partition AND m.key = p.memory
WHERE p.tenant = %(tenant)s AND m.key = ANY(%(keys)s)
AND (octet_length(p.vector) <> 4 + e.dimension OR octet_length(p.codes) %% 16 <> 0)
ON CONFLICT DO NOTHING RETURNING 1

-- name: tier_texts
SELECT tier, count(*), sum(characters), sum(coalesce(octet_length(packed), octet_length(text)))
FROM memories WHERE tenant = %(tenant)s GROUP BY tier

-- name: tier_pieces
SELECT m.tier, sum(4 * e.dimension), sum(octet_length(p.vector)), sum(
    CASE WHEN octet_length(p.codes) %% 16 = 0 THEN octet_length(p.codes)
    ELSE (octet_length(p.codes) - 1) * 2 END
), sum(octet_length(p.codes))
FROM pieces AS p JOIN memories AS m ON m.tenant = p.tenant AND m.key = p.memory
JOIN embedders AS e ON e.id = p.embedder WHERE p.tenant = %(tenant)s GROUP BY m.tier

-- name: keys_of_tenant
SELECT ARRAY(SELECT key FROM memories WHERE tenant = %(tenant)s)

-- name: empty_text
UPDATE memories SET text = '', packed = NULL, dictionary = NULL, tier = 0
WHERE tenant = %(tenant)s AND key = %(key)s
