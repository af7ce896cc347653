-- name: entity
e.number, e.partition, e.id, e.name, e.folded, e.type, e.given, e.created_at, e.digest

-- name: claim
c.key, c.partition, c.id, s.id, o.id, m.id, c.predicate, c.value, c.text, c.kind, c.origin,
c.reason, c.confidence, c.trust, c.observed_at, c.recorded_at, c.began, c.ended, c.denies,
c.agent_id, c.session_id, c.metadata, c.rested_at, c.retired_at, c.digest

-- name: named_by_claim
LEFT JOIN entities AS s ON s.tenant = c.tenant AND s.number = c.subject
LEFT JOIN entities AS o ON o.tenant = c.tenant AND o.number = c.object
LEFT JOIN memories AS m ON m.tenant = c.tenant AND m.key = c.memory

-- name: entities_by_id
SELECT {entity} FROM entities AS e
WHERE e.tenant = %(tenant)s AND e.id = ANY(%(ids)s) AND e.partition = ANY(%(partitions)s)

-- name: find_entities
SELECT {entity} FROM entities AS e WHERE {condition}
ORDER BY e.head, e.folded, e.id, e.partition LIMIT %s OFFSET %s

-- name: numbers_of
SELECT e.number FROM entities AS e WHERE {condition}

-- name: find_claims
SELECT {claim} FROM (
    SELECT * FROM claims AS c WHERE {condition} ORDER BY c.recorded_at, c.key LIMIT %s OFFSET %s
) AS c {named_by_claim} ORDER BY c.recorded_at, c.key

-- name: find_latest_claims
SELECT {claim} FROM (
    SELECT * FROM claims AS c WHERE {condition}
    ORDER BY c.recorded_at DESC, c.key DESC LIMIT %s OFFSET %s
) AS c {named_by_claim} ORDER BY c.recorded_at DESC, c.key DESC

-- name: find_mentions
SELECT e.id, m.id, m.happened_at, m.session_id FROM mentions AS n
JOIN memories AS m ON m.tenant = n.tenant AND m.key = n.memory
JOIN entities AS e ON e.tenant = n.tenant AND e.number = n.entity
WHERE n.entity = ANY(%s) AND {condition} AND m.state = 1
ORDER BY m.happened_at DESC, m.key DESC, e.id LIMIT %s OFFSET %s

-- name: mention_counts
SELECT e.id, sum(counted.times)::bigint FROM (
    SELECT n.tenant, n.entity, count(*) AS times FROM mentions AS n
    JOIN memories AS m ON m.tenant = n.tenant AND m.key = n.memory
    WHERE {condition} AND m.state = 1 GROUP BY n.tenant, n.entity
) AS counted
JOIN entities AS e ON e.tenant = counted.tenant AND e.number = counted.entity GROUP BY e.id

-- name: newest_entity
SELECT coalesce(max(number), 0) FROM entities WHERE tenant = %(tenant)s

-- name: entities_after
SELECT {entity} FROM entities AS e
WHERE e.tenant = %(tenant)s AND e.number > %(number)s AND e.number <= %(newest)s
ORDER BY e.number LIMIT %(most)s

-- name: claims_after
SELECT {claim} FROM (
    SELECT * FROM claims
    WHERE tenant = %(tenant)s AND key > %(key)s AND greatest(subject, object) <= %(newest)s
    ORDER BY key LIMIT %(most)s
) AS c {named_by_claim} ORDER BY c.key

-- name: mentions_after
SELECT n.partition, n.memory, n.entity, e.id, m.id, m.happened_at, m.session_id
FROM mentions AS n JOIN memories AS m ON m.tenant = n.tenant AND m.key = n.memory
JOIN entities AS e ON e.tenant = n.tenant AND e.number = n.entity
WHERE n.tenant = %(tenant)s
AND (n.partition, n.memory, n.entity) > (%(partition)s, %(memory)s, %(entity)s)
AND n.entity <= %(newest)s
ORDER BY n.partition, n.memory, n.entity LIMIT %(most)s

-- name: numbers_of_names
SELECT array_agg(number) FROM entities WHERE tenant = %(tenant)s AND partition = %(partition)s

-- name: names
SELECT number, id, name, type FROM entities
WHERE tenant = %(tenant)s AND partition = %(partition)s AND number = ANY(%(keys)s)
ORDER BY number

-- name: mentioned_after
SELECT n.memory, n.entity FROM mentions AS n
JOIN memories AS m ON m.tenant = n.tenant AND m.key = n.memory AND m.state = 1
WHERE n.tenant = %(tenant)s AND n.partition = %(partition)s
AND (n.memory, n.entity) > (%(memory)s, %(entity)s)
ORDER BY n.memory, n.entity LIMIT %(most)s

-- name: mentioned_in
SELECT n.memory, n.entity FROM mentions AS n
JOIN memories AS m ON m.tenant = n.tenant AND m.key = n.memory AND m.state = 1
WHERE n.tenant = %(tenant)s AND n.partition = %(partition)s AND n.memory = ANY(%(keys)s)
ORDER BY n.memory, n.entity

-- name: ties_after
SELECT key, subject, predicate, object, coalesce(memory, 0), trust FROM claims
WHERE tenant = %(tenant)s AND partition = %(partition)s AND key > %(after)s
AND object IS NOT NULL AND rested_at IS NULL AND retired_at IS NULL AND denies = 0
ORDER BY key LIMIT %(most)s

-- name: is_evidence
(m.state = 1 OR m.state = 2 AND m.superseded_by IS NOT NULL)

-- name: told_memories
SELECT m.id, m.key, m.partition, {is_evidence}, m.updated_at, m.version FROM memories AS m
WHERE m.tenant = %(tenant)s AND m.id = ANY(%(ids)s) ORDER BY m.key FOR KEY SHARE

-- name: insert_entities
INSERT INTO entities (
    tenant, partition, id, name, folded, head, type, given, created_at, digest
) SELECT %(tenant)s, new.partition, new.id, new.name, new.folded, left(new.folded, {head}), new.type,
    new.given, new.created_at, new.digest
FROM {entity_columns} ORDER BY new.nth

-- name: entity_columns
unnest(
    %(partition)s, %(id)s, %(name)s, %(folded)s, %(type)s, %(given)s, %(created_at)s, %(digest)s
) WITH ORDINALITY AS new (partition, id, name, folded, type, given, created_at, digest, nth)

-- name: head
64

-- name: update_entities
UPDATE entities AS e SET type = new.type, given = new.given, digest = new.digest
FROM unnest(%(number)s, %(type)s, %(given)s, %(digest)s) AS new (number, type, given, digest)
WHERE e.tenant = %(tenant)s AND e.number = new.number

-- name: insert_mentions
INSERT INTO mentions (tenant, partition, memory, entity)
SELECT %(tenant)s, new.partition, new.memory, e.number
FROM unnest(%(partitions)s, %(keys)s, %(ids)s) AS new (partition, memory, entity)
JOIN entities AS e ON e.tenant = %(tenant)s AND e.id = new.entity AND e.partition = new.partition
ON CONFLICT DO NOTHING

-- name: insert_claims
INSERT INTO claims (
    tenant, partition, subject, object, memory, id, predicate, value, text, kind, origin, reason,
    confidence, trust, observed_at, recorded_at, began, ended, denies, agent_id, session_id,
    metadata, rested_at, retired_at, digest
) SELECT %(tenant)s, new.partition, s.number, o.number, nullif(new.memory, 0), new.id,
    new.predicate, new.value, new.text, new.kind, new.origin, new.reason, new.confidence,
    new.trust, new.observed_at, new.recorded_at, new.began, new.ended, new.denies, new.agent_id,
    new.session_id, new.metadata, nullif(new.rested_at, %(never)s),
    nullif(new.retired_at, %(never)s), new.digest
FROM unnest(
    %(partition)s, %(subject)s, %(object)s, %(memory)s, %(id)s, %(predicate)s, %(value)s,
    %(text)s, %(kind)s, %(origin)s, %(reason)s, %(confidence)s, %(trust)s, %(observed_at)s,
    %(recorded_at)s, %(began)s, %(ended)s, %(denies)s, %(agent_id)s, %(session_id)s,
    %(metadata)s, %(rested_at)s, %(retired_at)s, %(digest)s
) WITH ORDINALITY AS new (
    partition, subject, object, memory, id, predicate, value, text, kind, origin, reason,
    confidence, trust, observed_at, recorded_at, began, ended, denies, agent_id, session_id,
    metadata, rested_at, retired_at, digest, nth
)
JOIN entities AS s ON s.tenant = %(tenant)s AND s.id = new.subject AND s.partition = new.partition
LEFT JOIN entities AS o
ON o.tenant = %(tenant)s AND o.id = new.object AND o.partition = new.partition
ORDER BY new.nth ON CONFLICT DO NOTHING

-- name: rest_claims
UPDATE claims AS c SET rested_at = new.at FROM unnest(%(keys)s, %(ats)s) AS new (memory, at)
WHERE c.tenant = %(tenant)s AND c.memory = new.memory AND c.rested_at IS NULL

-- name: wake_claims
UPDATE claims SET rested_at = NULL
WHERE tenant = %(tenant)s AND memory = ANY(%(keys)s) AND rested_at IS NOT NULL

-- name: is_found
c.origin <> 'caller'

-- name: retire_claims
UPDATE claims AS c SET retired_at = new.at FROM unnest(%(keys)s, %(ats)s) AS new (memory, at)
WHERE c.tenant = %(tenant)s AND c.memory = new.memory AND c.retired_at IS NULL AND {is_found}

-- name: erase_claims_of
DELETE FROM claims WHERE tenant = %(tenant)s AND memory = ANY(%(keys)s)
RETURNING partition, subject, object

-- name: erase_present_claims_of
DELETE FROM claims AS c
WHERE c.tenant = %(tenant)s AND c.memory = ANY(%(keys)s) AND c.retired_at IS NULL AND {is_found}
RETURNING partition, subject, object

-- name: erase_claims_told_again
DELETE FROM claims AS c USING unnest(%(keys)s, %(ids)s) AS told (memory, id)
WHERE c.tenant = %(tenant)s AND c.memory = told.memory AND c.id = told.id AND {is_found}
RETURNING c.partition, c.subject, c.object

-- name: erase_mentions_of
DELETE FROM mentions
WHERE tenant = %(tenant)s AND partition = ANY(%(partitions)s) AND memory = ANY(%(keys)s)
RETURNING entity

-- name: partitions_of_knowledge
SELECT partition FROM claims WHERE tenant = %(tenant)s AND id = ANY(%(claims)s)
UNION SELECT partition FROM entities WHERE tenant = %(tenant)s AND id = ANY(%(entities)s)

-- name: numbers_of_entities
SELECT number FROM entities WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)

-- name: erase_claims
DELETE FROM claims WHERE tenant = %(tenant)s AND id = ANY(%(ids)s)
RETURNING partition, subject, object

-- name: erase_claims_about
DELETE FROM claims
WHERE tenant = %(tenant)s AND (subject = ANY(%(numbers)s) OR object = ANY(%(numbers)s))
RETURNING partition, subject, object

-- name: erase_mentions_about
DELETE FROM mentions WHERE tenant = %(tenant)s AND entity = ANY(%(numbers)s) RETURNING 1

-- name: erase_entities
DELETE FROM entities WHERE tenant = %(tenant)s AND number = ANY(%(numbers)s) RETURNING 1

-- name: erase_claims_in_reach
DELETE FROM claims AS c WHERE {condition} RETURNING c.partition, c.subject, c.object

-- name: erase_mentions_in_reach
DELETE FROM mentions AS n USING memories AS m
WHERE m.tenant = n.tenant AND m.key = n.memory AND {condition} RETURNING n.partition, n.entity

-- name: erase_mentions_in
DELETE FROM mentions WHERE tenant = %(tenant)s AND partition = ANY(%(partitions)s)

-- name: erase_entities_in
DELETE FROM entities WHERE tenant = %(tenant)s AND partition = ANY(%(partitions)s)
RETURNING partition

-- name: erase_idle_denials
DELETE FROM claims AS c
WHERE c.tenant = %(tenant)s AND c.subject = ANY(%(numbers)s) AND c.denies <> 0
AND c.predicate <> 'same as' AND NOT EXISTS (
    SELECT 1 FROM claims AS a WHERE a.tenant = c.tenant AND a.subject = c.subject
    AND a.predicate = c.predicate AND a.denies = 0 AND (c.value = '' OR a.value = c.value)
)
RETURNING c.partition, c.subject, c.object

-- name: erase_idle_merges
DELETE FROM claims AS c USING entities AS e
WHERE c.tenant = %(tenant)s AND e.tenant = c.tenant AND e.number = ANY(%(numbers)s)
AND e.number IN (c.subject, c.object) AND c.predicate = 'same as' AND e.given = 0
AND NOT EXISTS (
    SELECT 1 FROM claims AS a WHERE a.tenant = e.tenant AND a.subject = e.number
    AND a.predicate <> 'same as'
)
AND NOT EXISTS (
    SELECT 1 FROM claims AS a WHERE a.tenant = e.tenant AND a.object = e.number
    AND a.predicate <> 'same as'
)
AND NOT EXISTS (SELECT 1 FROM mentions AS n WHERE n.tenant = e.tenant AND n.entity = e.number)
RETURNING c.partition, c.subject, c.object

-- name: erase_silent_entities
DELETE FROM entities AS e WHERE {is_silent_entity} AND e.number = ANY(%(numbers)s) RETURNING 1

-- name: is_silent_entity
e.tenant = %(tenant)s AND e.given = 0
AND NOT EXISTS (SELECT 1 FROM claims AS c WHERE c.tenant = e.tenant AND c.subject = e.number)
AND NOT EXISTS (SELECT 1 FROM claims AS c WHERE c.tenant = e.tenant AND c.object = e.number)
AND NOT EXISTS (SELECT 1 FROM mentions AS n WHERE n.tenant = e.tenant AND n.entity = e.number)

-- name: count_entities
SELECT count(*) FROM entities WHERE tenant = %(tenant)s

-- name: count_claims
SELECT count(*) FROM claims WHERE tenant = %(tenant)s

-- name: guarded_entities
SELECT {entity} FROM entities AS e WHERE e.tenant = %(tenant)s AND e.number > %(after)s
ORDER BY e.number LIMIT %(most)s

-- name: guarded_claims
SELECT {claim} FROM (
    SELECT * FROM claims WHERE tenant = %(tenant)s AND key > %(after)s ORDER BY key LIMIT %(most)s
) AS c {named_by_claim} ORDER BY c.key

-- name: rewrite_entity
UPDATE entities AS e SET name = new.name, folded = new.folded, head = left(new.folded, {head}),
    type = new.type, given = new.given, created_at = new.created_at, digest = new.digest
FROM {entity_columns} WHERE e.tenant = %(tenant)s AND e.number = %(number)s

-- name: erase_claims_by_key
DELETE FROM claims WHERE tenant = %(tenant)s AND key = ANY(%(keys)s)
RETURNING partition, subject, object

-- name: is_stray_claim
c.tenant = %(tenant)s AND (NOT EXISTS (
    SELECT 1 FROM entities AS e
    WHERE e.tenant = c.tenant AND e.number = c.subject AND e.partition = c.partition
) OR c.object IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM entities AS e
    WHERE e.tenant = c.tenant AND e.number = c.object AND e.partition = c.partition
) OR c.memory IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM memories AS m
    WHERE m.tenant = c.tenant AND m.key = c.memory AND m.partition = c.partition
))

-- name: stray_claims
SELECT count(*) FROM claims AS c WHERE {is_stray_claim}

-- name: delete_stray_claims
DELETE FROM claims AS c WHERE {is_stray_claim}

-- name: is_stray_mention
n.tenant = %(tenant)s AND (NOT EXISTS (
    SELECT 1 FROM entities AS e
    WHERE e.tenant = n.tenant AND e.number = n.entity AND e.partition = n.partition
) OR NOT EXISTS (
    SELECT 1 FROM memories AS m
    WHERE m.tenant = n.tenant AND m.key = n.memory AND m.partition = n.partition
))

-- name: stray_mentions
SELECT count(*) FROM mentions AS n WHERE {is_stray_mention}

-- name: delete_stray_mentions
DELETE FROM mentions AS n WHERE {is_stray_mention}

-- name: wrong_rests
SELECT count(*) FROM claims AS c JOIN memories AS m ON m.tenant = c.tenant AND m.key = c.memory
WHERE c.tenant = %(tenant)s AND {is_wrong_rest}

-- name: is_wrong_rest
(c.rested_at IS NULL) <> {is_evidence}

-- name: mend_wrong_rests
UPDATE claims AS c SET rested_at = CASE WHEN {is_evidence} THEN NULL ELSE m.updated_at END
FROM memories AS m WHERE m.tenant = c.tenant AND m.key = c.memory
AND c.tenant = %(tenant)s AND {is_wrong_rest}
