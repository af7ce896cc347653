-- name: enter
SELECT set_config('remanence.tenant', %(name)s, true)

-- name: mark_commit
INSERT INTO commits (tenant, writer, token) VALUES (%(tenant)s, %(writer)s, %(token)s)
ON CONFLICT (tenant, writer) DO UPDATE SET token = excluded.token, at = excluded.at
RETURNING token

-- name: await_commit
INSERT INTO commits (tenant, writer, token) VALUES (%(tenant)s, %(writer)s, -1)
ON CONFLICT (tenant, writer) DO NOTHING

-- name: commit_token
SELECT token FROM commits WHERE tenant = %(tenant)s AND writer = %(writer)s FOR UPDATE

-- name: end_backend
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %(backend)s
AND application_name = %(application)s AND usename = current_user AND pid <> pg_backend_pid()

-- name: ring
SELECT set_config('synchronous_commit', 'off', true), pg_notify(%(channel)s, told)
FROM unnest(%(told)s) AS told

-- name: tenant
SELECT id FROM tenants WHERE name = %(name)s

-- name: tenant_name
SELECT name FROM tenants WHERE id = %(id)s

-- name: tenants
SELECT name FROM tenants ORDER BY name

-- name: insert_tenant
INSERT INTO tenants (name) VALUES (%(name)s) ON CONFLICT (name) DO NOTHING

-- name: partitions
SELECT id, user_id FROM partitions WHERE tenant = %(tenant)s AND user_id = ANY(%(users)s)

-- name: partitions_of_tenant
SELECT id, user_id FROM partitions WHERE tenant = %(tenant)s ORDER BY id

-- name: partition_user
SELECT user_id FROM partitions WHERE tenant = %(tenant)s AND id = %(partition)s

-- name: insert_partitions
INSERT INTO partitions (tenant, user_id) SELECT %(tenant)s, name FROM unnest(%(users)s) AS name
ON CONFLICT (tenant, user_id) DO NOTHING

-- name: meta
SELECT value FROM meta WHERE name = %(name)s

-- name: set_meta
INSERT INTO meta (name, value) VALUES (%(name)s, %(value)s)
ON CONFLICT (name) DO UPDATE SET value = excluded.value

-- name: facts
SELECT name, value FROM meta
