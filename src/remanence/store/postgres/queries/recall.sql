-- name: position
SELECT position FROM partitions WHERE tenant = %(tenant)s AND id = %(partition)s

-- name: changes
SELECT seq, memory FROM changes
WHERE tenant = %(tenant)s AND partition = %(partition)s AND seq > %(after)s
ORDER BY seq LIMIT %(most)s

-- name: trait
m.key, m.partition, m.session_id, m.agent_id, m.speaker, m.role, m.kind, m.state, m.happened_at,
m.created_at, m.terms, m.characters, m.flags, m.importance, m.trust, m.said_from, m.said_to

-- name: traits
SELECT {trait} FROM memories AS m
WHERE m.tenant = %(tenant)s AND m.partition = %(partition)s AND m.key = ANY(%(keys)s)
ORDER BY m.key

-- name: keys_of
SELECT array_agg(key) FROM memories WHERE tenant = %(tenant)s AND partition = %(partition)s

-- name: keys
SELECT array_agg(m.key) FROM memories AS m WHERE {condition}

-- name: postings
SELECT ARRAY(
    SELECT place FROM words WHERE tenant = %(tenant)s AND term = asked.term
    ORDER BY place LIMIT %(most)s
) FROM unnest(%(terms)s) WITH ORDINALITY AS asked (term, nth) ORDER BY asked.nth

-- name: records
SELECT {record} FROM {memories_and_uses}
WHERE m.tenant = %(tenant)s AND m.partition = %(partition)s AND m.key = ANY(%(keys)s)
