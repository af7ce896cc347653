-- name: document
d.key, d.shelf, d.user_id, d.session_id, d.agent_id, d.name, d.version, d.created_at,
d.updated_at, d.expires_at, d.value, d.digest

-- name: standing
SELECT d.key, d.shelf, d.user_id, d.session_id, d.agent_id, d.name, d.version, d.created_at
FROM documents AS d WHERE {at_place}

-- name: at_place
d.tenant = ? AND d.shelf = ? AND d.user_id = ? AND d.session_id = ? AND d.agent_id = ?
AND d.name = ?

-- name: document_at
SELECT {document} FROM documents AS d WHERE {at_place}

-- name: insert_document
INSERT INTO documents (
    tenant, shelf, user_id, session_id, agent_id, name,
    version, created_at, updated_at, expires_at, value, digest
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING key

-- name: update_document
UPDATE documents SET
    version = ?, created_at = ?, updated_at = ?, expires_at = ?, value = ?, digest = ?
WHERE key = ?

-- name: delete_documents
DELETE FROM documents WHERE key IN (SELECT value FROM carray(:keys))

-- name: edition
e.document, e.version, e.verb, e.at, e.author, e.reason, e.value, e.digest

-- name: insert_edition
INSERT INTO editions (document, version, verb, at, author, reason, value, digest)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)

-- name: delete_editions
DELETE FROM editions WHERE document IN (SELECT value FROM carray(:keys))

-- name: editions
SELECT {edition} FROM carray(:keys) AS wanted CROSS JOIN editions AS e ON e.document = wanted.value
ORDER BY e.document, e.version

-- name: last_put
ORDER BY d.updated_at DESC, d.user_id, d.session_id, d.agent_id, d.name

-- name: shelved
SELECT {document} FROM (
    SELECT d.key FROM documents AS d WHERE d.tenant = ? AND d.shelf = ? AND {condition}
    {last_put} LIMIT ? OFFSET ?
) AS chosen CROSS JOIN documents AS d ON d.key = chosen.key {last_put}

-- name: shelf_keys
SELECT d.key FROM documents AS d WHERE d.tenant = ? AND d.shelf = ? AND {condition} ORDER BY d.key

-- name: documents_by_key
SELECT {document} FROM carray(:keys) AS wanted
CROSS JOIN documents AS d ON d.key = wanted.value

-- name: expired
SELECT d.key, d.shelf, d.user_id, d.session_id, d.agent_id, d.name, d.expires_at
FROM documents AS d WHERE d.tenant = :tenant AND d.shelf = :shelf AND d.expires_at <= :now
ORDER BY d.expires_at, d.user_id, d.session_id, d.agent_id, d.name LIMIT :most

-- name: documents_after
SELECT {document} FROM documents AS d WHERE d.tenant = :tenant
AND (d.shelf, d.user_id, d.session_id, d.agent_id, d.name)
    > (:shelf, :user, :session, :agent, :name)
ORDER BY d.shelf, d.user_id, d.session_id, d.agent_id, d.name LIMIT :most

-- name: count_documents
SELECT shelf, count(*) FROM documents WHERE tenant = :tenant GROUP BY shelf

-- name: guarded_documents
SELECT key, CAST(shelf AS BLOB), CAST(user_id AS BLOB), CAST(session_id AS BLOB),
    CAST(agent_id AS BLOB), CAST(name AS BLOB), version, created_at, updated_at, expires_at,
    CAST(value AS BLOB), digest, CAST(tenant AS BLOB)
FROM documents WHERE key > :after ORDER BY key LIMIT :most

-- name: guarded_editions
SELECT document, version, CAST(verb AS BLOB), at, CAST(author AS BLOB), CAST(reason AS BLOB),
    CAST(value AS BLOB), digest
FROM editions WHERE document IN (SELECT value FROM carray(:keys)) ORDER BY document, version

-- name: rewrite_document
UPDATE documents SET version = :version, created_at = :created, updated_at = :updated,
    expires_at = :expires, value = :value, digest = :digest
WHERE key = :key

-- name: delete_edition
DELETE FROM editions WHERE document = :document AND version IS :version AND digest IS :digest

-- name: is_stray_edition
NOT EXISTS (SELECT 1 FROM documents WHERE key = document)

-- name: stray_editions
SELECT count(*) FROM editions WHERE {is_stray_edition}

-- name: delete_stray_editions
DELETE FROM editions WHERE {is_stray_edition}
