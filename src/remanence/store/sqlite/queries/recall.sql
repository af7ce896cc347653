-- name: position
SELECT coalesce(max(seq), 0) FROM changes WHERE partition = :partition

-- name: changes
SELECT seq, memory FROM changes WHERE partition = :partition AND seq > :after
ORDER BY seq LIMIT :most

-- name: newest_change
SELECT coalesce(max(seq), 0) FROM changes

-- name: changed_partitions
SELECT DISTINCT partition FROM changes WHERE seq > :seen AND seq <= :newest

-- name: trait
m.key, m.partition, m.session_id, m.agent_id, m.speaker, m.role, m.kind, m.state, m.happened_at,
m.created_at, m.terms, m.characters, m.flags, m.importance, m.trust, m.said_from, m.said_to

-- name: traits
SELECT {trait} FROM carray(:keys) AS wanted CROSS JOIN memories AS m ON m.key = wanted.value
WHERE m.partition = :partition

-- name: keys_of
SELECT group_concat(key) FROM memories WHERE partition = :partition

-- name: keys
SELECT group_concat(m.key) FROM memories AS m WHERE {condition}

-- name: postings
-- The keys of each term, joined by "/". A term with more than `most` of them has "-" instead.
SELECT group_concat((
    SELECT CASE WHEN count(*) > :most THEN '-' ELSE coalesce(group_concat(doc), '') END
    FROM (SELECT doc FROM words_terms WHERE term = wanted.value LIMIT :most + 1)
), '/')
FROM carray(:terms) AS wanted

-- name: records
SELECT {record} FROM carray(:keys) AS wanted
CROSS JOIN memories AS m ON m.key = wanted.value
LEFT JOIN uses AS u ON u.memory = m.key
WHERE m.partition = :partition
