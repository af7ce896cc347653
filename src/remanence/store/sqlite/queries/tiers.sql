-- name: text
CASE typeof(m.text) WHEN 'blob' THEN remanence_text(m.text) ELSE m.text END

-- name: dictionary
SELECT digest, body, spare FROM dictionaries WHERE id = ?

-- name: current_dictionary
SELECT id, among FROM dictionaries WHERE tenant = :tenant AND NOT tainted ORDER BY id DESC LIMIT 1

-- name: hold_dictionary
SELECT id FROM dictionaries WHERE tenant = :tenant AND NOT tainted ORDER BY id DESC LIMIT 1

-- name: keys_of_tenant
SELECT group_concat(key) FROM memories
WHERE partition IN (SELECT id FROM partitions WHERE tenant = :tenant)

-- name: insert_dictionary
INSERT INTO dictionaries (tenant, among, digest, body, spare)
VALUES (:tenant, :among, :digest, :body, :body) RETURNING id

-- name: insert_sources
INSERT INTO dictionary_sources (memory, dictionary)
SELECT m.key, :dictionary FROM carray(:keys) AS wanted CROSS JOIN memories AS m ON m.key = wanted.value
RETURNING memory

-- name: every_dictionary
SELECT id, digest, body, spare FROM dictionaries ORDER BY id

-- name: mend_dictionary
UPDATE dictionaries SET body = :body, spare = :body WHERE id = :id

-- name: tainted_dictionaries
SELECT id FROM dictionaries WHERE tenant = :tenant AND tainted ORDER BY id

-- name: delete_unused_dictionaries
DELETE FROM dictionaries WHERE (tainted OR id < (
    SELECT max(d.id) FROM dictionaries AS d WHERE d.tenant = dictionaries.tenant AND NOT d.tainted
)) AND id NOT IN (SELECT dictionary FROM tiers WHERE dictionary IS NOT NULL) RETURNING id

-- name: is_packable
coalesce(t.tier, 0) < ? AND m.state != 4 AND (
    m.state != 1 OR max(m.happened_at, m.created_at, coalesce(u.last, m.created_at)) < ?
)

-- name: from_tiers
memories AS m LEFT JOIN uses AS u ON u.memory = m.key LEFT JOIN tiers AS t ON t.memory = m.key

-- name: keys_to_pack
SELECT group_concat(key) FROM (
    SELECT m.key FROM {from_tiers} WHERE {condition} AND {is_packable}
    ORDER BY m.key LIMIT ?
)

-- name: count_to_pack
SELECT count(*) FROM {from_tiers} WHERE {condition} AND {is_packable}

-- name: keys_packed
SELECT group_concat(key) FROM (
    SELECT m.key FROM memories AS m CROSS JOIN tiers AS t ON t.memory = m.key
    WHERE {condition} ORDER BY m.key LIMIT ?
)

-- name: keys_with_dictionary
SELECT group_concat(memory) FROM (
    SELECT memory FROM tiers WHERE dictionary = :dictionary LIMIT :most
)

-- name: texts_of
SELECT m.key, {text} FROM carray(:keys) AS wanted
CROSS JOIN memories AS m ON m.key = wanted.value

-- name: hold_texts
SELECT m.key, typeof(m.text) = 'blob', CASE WHEN :packed OR typeof(m.text) = 'text' THEN {text} END
FROM carray(:keys) AS wanted CROSS JOIN memories AS m ON m.key = wanted.value

-- name: put_text
UPDATE memories SET text = ? WHERE key = ?

-- name: put_packed
INSERT INTO tiers (memory, tier, dictionary) VALUES (?, ?, ?)
ON CONFLICT (memory) DO UPDATE SET tier = excluded.tier, dictionary = excluded.dictionary

-- name: put_tier
INSERT INTO tiers (memory, tier) SELECT value, :tier FROM carray(:keys) WHERE TRUE
ON CONFLICT (memory) DO UPDATE SET tier = excluded.tier

-- name: make_hot
DELETE FROM tiers WHERE memory IN (SELECT value FROM carray(:keys))

-- name: pieces_to_pack
SELECT p.place, p.vector, p.codes, e.dimension FROM carray(:keys) AS wanted
CROSS JOIN pieces AS p ON p.place BETWEEN wanted.value << 24 AND ((wanted.value + 1) << 24) - 1
CROSS JOIN embedders AS e ON e.id = (p.place >> 14) & 0x3FF

-- name: put_piece
UPDATE pieces SET vector = ?, codes = ? WHERE place = ?

-- name: await_fine
INSERT OR IGNORE INTO pending (embedder, memory)
SELECT DISTINCT e.id, wanted.value FROM carray(:keys) AS wanted
CROSS JOIN pieces AS p ON p.place BETWEEN wanted.value << 24 AND ((wanted.value + 1) << 24) - 1
CROSS JOIN embedders AS e ON e.id = (p.place >> 14) & 0x3FF
WHERE length(p.vector) != 4 + e.dimension OR length(p.codes) % 16 != 0 RETURNING 1

-- name: tier_texts
SELECT coalesce(t.tier, 0), count(*), total(m.characters), total(octet_length(m.text))
FROM memories AS m LEFT JOIN tiers AS t ON t.memory = m.key WHERE {of_tenant} GROUP BY 1

-- name: tier_pieces
SELECT coalesce(t.tier, 0), total(4 * e.dimension), total(length(p.vector)),
    total(CASE WHEN length(p.codes) % 16 = 0 THEN length(p.codes) ELSE (length(p.codes) - 1) * 2 END),
    total(length(p.codes))
FROM pieces AS p CROSS JOIN memories AS m ON m.key = p.place >> 24
CROSS JOIN embedders AS e ON e.id = (p.place >> 14) & 0x3FF
LEFT JOIN tiers AS t ON t.memory = m.key WHERE {of_tenant} GROUP BY 1

-- name: tier_of
SELECT tier FROM tiers WHERE memory = ?

-- name: delete_dictionary
DELETE FROM dictionaries WHERE id = :dictionary

-- name: dictionary_of
SELECT dictionary FROM tiers WHERE memory = ?
