-- name: document
d.key, d.shelf, d.user_id, d.session_id, d.agent_id, d.name, d.version, d.created_at,
d.updated_at, d.expires_at, d.value, d.digest

-- name: documents_at
SELECT {document} FROM documents AS d WHERE d.tenant = %(tenant)s AND d.place = ANY(%(places)s)

-- name: mark_places
SAVEPOINT places

-- name: let_go_of_places
ROLLBACK TO SAVEPOINT places

-- name: reserve_places
INSERT INTO documents (
    tenant, place, shelf, user_id, session_id, agent_id, name,
    version, created_at, updated_at, value, digest
)
SELECT %(tenant)s, new.*, 0, 0, 0, '{}', ''
FROM unnest(%(places)s, %(shelves)s, %(users)s, %(sessions)s, %(agents)s, %(names)s)
    AS new (place, shelf, user_id, session_id, agent_id, name)
ORDER BY new.place ON CONFLICT (tenant, place) DO NOTHING

-- name: lock_places
SELECT d.key, d.shelf, d.user_id, d.session_id, d.agent_id, d.name, d.version, d.created_at
FROM documents AS d WHERE d.tenant = %(tenant)s AND d.place = ANY(%(places)s)
ORDER BY d.place FOR UPDATE

-- name: update_documents
UPDATE documents AS d SET version = new.version, created_at = new.created_at,
    updated_at = new.updated_at, expires_at = nullif(new.expires_at, %(never)s),
    value = new.value, digest = new.digest
FROM unnest(
    %(key)s, %(version)s, %(created_at)s, %(updated_at)s, %(expires_at)s, %(value)s, %(digest)s
) AS new (key, version, created_at, updated_at, expires_at, value, digest)
WHERE d.tenant = %(tenant)s AND d.key = new.key

-- name: delete_documents
DELETE FROM documents WHERE tenant = %(tenant)s AND key = ANY(%(keys)s)

-- name: edition
e.document, e.version, e.verb, e.at, e.author, e.reason, e.value, e.digest

-- name: insert_editions
INSERT INTO editions (tenant, document, version, verb, at, author, reason, value, digest)
SELECT %(tenant)s, new.* FROM unnest(
    %(document)s, %(version)s, %(verb)s, %(at)s, %(author)s, %(reason)s, %(value)s, %(digest)s
) AS new

-- name: delete_editions
DELETE FROM editions WHERE tenant = %(tenant)s AND document = ANY(%(keys)s)

-- name: editions
SELECT {edition} FROM editions AS e
WHERE e.tenant = %(tenant)s AND e.document = ANY(%(keys)s) ORDER BY e.document, e.version

-- name: shelved
SELECT {document} FROM documents AS d WHERE d.tenant = %s::integer AND d.shelf = %s AND {condition}
ORDER BY d.updated_at DESC, d.user_id, d.session_id, d.agent_id, d.name LIMIT %s OFFSET %s

-- name: shelf_keys
SELECT d.key FROM documents AS d
WHERE d.tenant = %s::integer AND d.shelf = %s AND {condition} ORDER BY d.key

-- name: documents_by_key
SELECT {document} FROM documents AS d
WHERE d.tenant = %(tenant)s AND d.key = ANY(%(keys)s) ORDER BY d.key

-- name: expired
SELECT d.key, d.shelf, d.user_id, d.session_id, d.agent_id, d.name, d.expires_at
FROM documents AS d
WHERE d.tenant = %(tenant)s AND d.shelf = %(shelf)s AND d.expires_at <= %(now)s
ORDER BY d.expires_at, d.user_id, d.session_id, d.agent_id, d.name LIMIT %(most)s FOR UPDATE

-- name: documents_after
SELECT {document} FROM documents AS d WHERE d.tenant = %(tenant)s
AND (d.shelf, d.user_id, d.session_id, d.agent_id, d.name)
    > (%(shelf)s, %(user)s, %(session)s, %(agent)s, %(name)s)
ORDER BY d.shelf, d.user_id, d.session_id, d.agent_id, d.name LIMIT %(most)s

-- name: count_documents
SELECT shelf, count(*) FROM documents WHERE tenant = %(tenant)s GROUP BY shelf

-- name: guarded_documents
SELECT {document} FROM documents AS d WHERE d.tenant = %(tenant)s AND d.key > %(after)s
ORDER BY d.key LIMIT %(most)s

-- name: guarded_editions
{editions}

-- name: rewrite_document
UPDATE documents SET version = %(version)s, created_at = %(created)s, updated_at = %(updated)s,
    expires_at = %(expires)s, value = %(value)s, digest = %(digest)s
WHERE tenant = %(tenant)s AND key = %(key)s AND digest = %(before)s

-- name: delete_edition
DELETE FROM editions WHERE tenant = %(tenant)s AND document = %(document)s
AND version = %(version)s AND digest = %(digest)s

-- name: is_stray_edition
e.tenant = %(tenant)s AND NOT EXISTS (
    SELECT 1 FROM documents AS d WHERE d.tenant = e.tenant AND d.key = e.document
)

-- name: stray_editions
SELECT count(*) FROM editions AS e WHERE {is_stray_edition}

-- name: delete_stray_editions
DELETE FROM editions AS e WHERE {is_stray_edition}
