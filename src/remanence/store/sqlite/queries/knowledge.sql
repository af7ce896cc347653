-- name: entity
e.number, e.partition, e.id, e.name, e.folded, e.type, e.given, e.created_at, e.digest

-- name: claim
c.key, c.partition, c.id, s.id, o.id, substr(m.id, 1, 16), c.predicate, c.value, c.text, c.kind, c.origin,
c.reason, c.confidence, c.trust, c.observed_at, c.recorded_at, c.began, c.ended, c.denies,
c.agent_id, c.session_id, c.metadata, c.rested_at, c.retired_at, c.digest

-- name: named_by_claim
LEFT JOIN entities AS s ON s.number = c.subject
LEFT JOIN entities AS o ON o.number = c.object
LEFT JOIN memories AS m ON m.key = c.memory

-- name: insert_entity
INSERT INTO entities (partition, id, name, folded, type, given, created_at, digest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) RETURNING id, number

-- name: update_entity
UPDATE entities SET
    id = ?, name = ?, folded = ?, type = ?, given = ?, created_at = ?, digest = ?
WHERE number = ?

-- name: retell_entity
UPDATE entities SET type = ?2, given = ?3, digest = ?4 WHERE number = ?1

-- name: insert_claim
INSERT INTO claims (
    partition, subject, object, memory, id, predicate, value, text, kind, origin, reason,
    confidence, trust, observed_at, recorded_at, began, ended, denies, agent_id, session_id,
    metadata, rested_at, retired_at, digest
) VALUES (
    ?1, (SELECT number FROM entities WHERE id = ?2 AND partition = ?1),
    (SELECT number FROM entities WHERE id = ?3 AND partition = ?1),
    ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24
) ON CONFLICT (id, partition) DO NOTHING

-- name: insert_mention
INSERT INTO mentions (memory, entity, partition)
SELECT ?2, number, ?1 FROM entities WHERE id = ?3 AND partition = ?1
ON CONFLICT DO NOTHING

-- name: entities_by_id
SELECT {entity} FROM carray(:ids) AS wanted CROSS JOIN entities AS e ON e.id = wanted.value
WHERE e.partition IN (SELECT value FROM carray(:partitions))

-- name: is_evidence
(m.state = 1 OR m.state = 2 AND m.superseded_by IS NOT NULL)

-- name: told_memories
SELECT m.id, m.key, m.partition, {is_evidence}, m.updated_at, m.version FROM carray(:ids) AS wanted
CROSS JOIN memories AS m ON m.id = wanted.value
CROSS JOIN partitions AS p ON p.id = m.partition
WHERE p.tenant = :tenant

-- name: entities_of_memories
SELECT c.subject FROM carray(:numbers) AS w CROSS JOIN claims AS c ON c.memory = w.value
UNION SELECT c.object FROM carray(:numbers) AS w CROSS JOIN claims AS c ON c.memory = w.value
WHERE c.object IS NOT NULL
UNION SELECT n.entity FROM carray(:numbers) AS w CROSS JOIN mentions AS n ON n.memory = w.value

-- name: is_found
origin <> 'caller'

-- name: retire_claims
UPDATE claims SET retired_at = ? WHERE memory = ? AND retired_at IS NULL AND {is_found}

-- name: rest_claims
UPDATE claims SET rested_at = ? WHERE memory = ? AND rested_at IS NULL

-- name: wake_claims
UPDATE claims SET rested_at = NULL WHERE memory = ? AND rested_at IS NOT NULL

-- name: erase_present_claims_of
DELETE FROM claims
WHERE memory IN (SELECT value FROM carray(:keys)) AND retired_at IS NULL AND {is_found}
RETURNING partition, subject, object

-- name: delete_claim_of_memory
DELETE FROM claims WHERE id = ? AND memory = ? AND {is_found}

-- name: delete_mentions_of_memories
DELETE FROM mentions WHERE memory IN (SELECT value FROM carray(:keys))

-- name: is_unsaid
NOT EXISTS (SELECT 1 FROM claims WHERE subject = number)
AND NOT EXISTS (SELECT 1 FROM claims WHERE object = number)
AND NOT EXISTS (SELECT 1 FROM mentions WHERE entity = number)

-- name: erase_idle_denials
DELETE FROM claims WHERE key IN (
    SELECT c.key FROM carray(:numbers) AS w CROSS JOIN claims AS c ON c.subject = w.value
    WHERE c.denies AND c.predicate <> 'same as' AND NOT EXISTS (
        SELECT 1 FROM claims AS a WHERE a.subject = c.subject AND a.predicate = c.predicate
        AND NOT a.denies AND (c.value = '' OR a.value = c.value)
    )
) RETURNING partition, subject, object

-- name: erase_idle_merges
DELETE FROM claims WHERE key IN (
    SELECT c.key FROM carray(:numbers) AS w
    CROSS JOIN entities AS e ON e.number = w.value
    CROSS JOIN claims AS c
    ON c.predicate = 'same as' AND (c.subject = e.number OR c.object = e.number)
    WHERE e.given = 0 AND NOT EXISTS (
        SELECT 1 FROM claims AS a WHERE a.subject = e.number AND a.predicate <> 'same as'
    )
    AND NOT EXISTS (
        SELECT 1 FROM claims AS a WHERE a.object = e.number AND a.predicate <> 'same as'
    )
    AND NOT EXISTS (SELECT 1 FROM mentions AS n WHERE n.entity = e.number)
) RETURNING partition, subject, object

-- name: erase_silent_entities
DELETE FROM entities
WHERE number IN (SELECT value FROM carray(:numbers)) AND given = 0 AND {is_unsaid} RETURNING 1

-- name: erase_claims
DELETE FROM claims WHERE id IN (SELECT value FROM carray(:ids)) AND {of_the_tenant}
RETURNING partition, subject, object

-- name: numbers_of_entities
SELECT number FROM entities
WHERE id IN (SELECT value FROM carray(:ids)) AND {of_the_tenant}

-- name: partitions_of_knowledge
SELECT partition FROM claims
WHERE id IN (SELECT value FROM carray(:claims)) AND {of_the_tenant}
UNION SELECT partition FROM entities
WHERE id IN (SELECT value FROM carray(:entities)) AND {of_the_tenant}

-- name: erase_claims_about
DELETE FROM claims WHERE key IN (
    SELECT c.key FROM carray(:numbers) AS w CROSS JOIN claims AS c ON c.subject = w.value
    UNION SELECT c.key FROM carray(:numbers) AS w CROSS JOIN claims AS c ON c.object = w.value
) RETURNING partition, subject, object

-- name: erase_claims_by_key
DELETE FROM claims WHERE key IN (SELECT value FROM carray(:keys))
RETURNING partition, subject, object

-- name: erase_mentions_about
DELETE FROM mentions WHERE entity IN (SELECT value FROM carray(:numbers)) RETURNING 1

-- name: erase_entities
DELETE FROM entities WHERE number IN (SELECT value FROM carray(:numbers)) RETURNING 1

-- name: erase_claims_in_reach
DELETE FROM claims AS c WHERE {condition} RETURNING partition, subject, object

-- name: erase_mentions_in_reach
DELETE FROM mentions WHERE (memory, entity) IN (
    SELECT n.memory, n.entity FROM mentions AS n JOIN memories AS m ON m.key = n.memory
    WHERE {condition}
) RETURNING partition, entity

-- name: erase_mentions_in
DELETE FROM mentions WHERE partition IN (SELECT value FROM carray(:partitions))

-- name: erase_entities_in
DELETE FROM entities WHERE partition IN (SELECT value FROM carray(:partitions))
RETURNING partition

-- name: find_entities
SELECT {entity} FROM entities AS e WHERE {condition} ORDER BY e.folded, e.id LIMIT ? OFFSET ?

-- name: numbers_of
SELECT e.number FROM entities AS e WHERE {condition}

-- name: find_claims
SELECT {claim} FROM (
    SELECT c.key FROM claims AS c WHERE {condition} ORDER BY c.recorded_at, c.key LIMIT ? OFFSET ?
) AS chosen CROSS JOIN claims AS c ON c.key = chosen.key {named_by_claim}
ORDER BY c.recorded_at, c.key

-- name: find_latest_claims
SELECT {claim} FROM (
    SELECT c.key FROM claims AS c WHERE {condition}
    ORDER BY c.recorded_at DESC, c.key DESC LIMIT ? OFFSET ?
) AS chosen CROSS JOIN claims AS c ON c.key = chosen.key {named_by_claim}
ORDER BY c.recorded_at DESC, c.key DESC

-- name: find_mentions
SELECT e.id, m.id, m.happened_at, m.session_id FROM carray(?) AS wanted
CROSS JOIN mentions AS n ON n.entity = wanted.value
CROSS JOIN memories AS m ON m.key = n.memory
CROSS JOIN entities AS e ON e.number = n.entity
WHERE m.state = 1 AND {condition}
ORDER BY m.happened_at DESC, m.key DESC, e.id LIMIT ? OFFSET ?

-- name: mention_counts
SELECT e.id, sum(found.count) FROM (
    SELECT n.entity, count(*) AS count FROM mentions AS n JOIN memories AS m ON m.key = n.memory
    WHERE m.state = 1 AND {condition} GROUP BY n.entity
) AS found CROSS JOIN entities AS e ON e.number = found.entity GROUP BY e.id

-- name: of_the_tenant
partition IN (SELECT id FROM partitions WHERE tenant = :tenant)

-- name: newest_entity
SELECT coalesce(max(number), 0) FROM entities

-- name: entities_after
SELECT {entity} FROM entities AS e
WHERE e.number > :number AND e.number <= :newest AND e.{of_the_tenant} ORDER BY e.number LIMIT :most

-- name: claims_after
SELECT {claim} FROM claims AS c {named_by_claim}
WHERE c.key > :key AND max(c.subject, coalesce(c.object, 0)) <= :newest AND c.{of_the_tenant}
ORDER BY c.key LIMIT :most

-- name: mentions_after
SELECT n.partition, n.memory, n.entity, e.id, m.id, m.happened_at, m.session_id
FROM mentions AS n JOIN entities AS e ON e.number = n.entity
JOIN memories AS m ON m.key = n.memory
WHERE (n.memory, n.entity) > (:memory, :entity) AND n.entity <= :newest AND n.{of_the_tenant}
ORDER BY n.memory, n.entity LIMIT :most

-- name: numbers_of_names
SELECT group_concat(number) FROM entities WHERE partition = :partition

-- name: names
SELECT e.number, e.id, e.name, e.type FROM carray(:keys) AS wanted
CROSS JOIN entities AS e ON e.number = wanted.value

-- name: mentioned_after
SELECT n.memory, n.entity FROM mentions AS n CROSS JOIN memories AS m ON m.key = n.memory
WHERE n.partition = :partition AND (n.memory, n.entity) > (:memory, :entity) AND m.state = 1
ORDER BY n.memory, n.entity LIMIT :most

-- name: mentioned_in
SELECT n.memory, n.entity FROM carray(:keys) AS wanted
CROSS JOIN mentions AS n ON n.memory = wanted.value
CROSS JOIN memories AS m ON m.key = n.memory
WHERE n.partition = :partition AND m.state = 1 ORDER BY n.memory, n.entity

-- name: ties_after
SELECT key, subject, predicate, object, coalesce(memory, 0), trust FROM claims
WHERE partition = :partition AND object IS NOT NULL AND rested_at IS NULL AND retired_at IS NULL
AND denies = 0 AND key > :after ORDER BY key LIMIT :most

-- name: count_entities
SELECT count(*) FROM entities AS m WHERE {of_tenant}

-- name: count_claims
SELECT count(*) FROM claims AS m WHERE {of_tenant}

-- name: guarded_entities
SELECT number, partition, id, CAST(name AS BLOB), CAST(folded AS BLOB), CAST(type AS BLOB), given,
    created_at, digest
FROM entities WHERE number > :after ORDER BY number LIMIT :most

-- name: guarded_claims
SELECT c.key, c.partition, c.id, s.id, o.id, substr(m.id, 1, 16), CAST(c.predicate AS BLOB),
    CAST(c.value AS BLOB), CAST(c.text AS BLOB), CAST(c.kind AS BLOB), CAST(c.origin AS BLOB),
    CAST(c.reason AS BLOB), c.confidence, c.trust, c.observed_at, c.recorded_at,
    CAST(c.began AS BLOB), CAST(c.ended AS BLOB), c.denies, CAST(c.agent_id AS BLOB),
    CAST(c.session_id AS BLOB), CAST(c.metadata AS BLOB), c.rested_at, c.retired_at, c.digest
FROM claims AS c {named_by_claim} WHERE c.key > :after ORDER BY c.key LIMIT :most

-- name: is_stray_claim
NOT EXISTS (SELECT 1 FROM entities AS e WHERE e.number = subject AND e.partition = claims.partition)
OR object IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM entities AS e WHERE e.number = object AND e.partition = claims.partition
)
OR memory IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM memories AS m WHERE m.key = memory AND m.partition = claims.partition
)

-- name: stray_claims
SELECT count(*) FROM claims WHERE {is_stray_claim}

-- name: delete_stray_claims
DELETE FROM claims WHERE {is_stray_claim}

-- name: is_stray_mention
NOT EXISTS (SELECT 1 FROM entities AS e WHERE e.number = entity AND e.partition = mentions.partition)
OR NOT EXISTS (
    SELECT 1 FROM memories AS m WHERE m.key = memory AND m.partition = mentions.partition
)

-- name: stray_mentions
SELECT count(*) FROM mentions WHERE {is_stray_mention}

-- name: delete_stray_mentions
DELETE FROM mentions WHERE {is_stray_mention}

-- name: is_wrong_rest
(rested_at IS NULL) != (SELECT {is_evidence} FROM memories AS m WHERE m.key = memory)

-- name: wrong_rests
SELECT count(*) FROM claims WHERE {is_wrong_rest}

-- name: mend_wrong_rests
UPDATE claims SET rested_at = (
    SELECT CASE WHEN {is_evidence} THEN NULL ELSE m.updated_at END FROM memories AS m
    WHERE m.key = memory
) WHERE {is_wrong_rest}
