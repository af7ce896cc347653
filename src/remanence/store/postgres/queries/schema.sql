-- name: fitness
SELECT current_setting('server_version_num')::integer, current_setting('server_version'),
    current_setting('server_encoding'), current_database(), current_schema(), rolname,
    rolsuper, rolbypassrls, (SELECT extversion FROM pg_extension WHERE extname = 'vector')
FROM pg_roles WHERE rolname = current_user

-- name: has_meta
SELECT count(*) = 2 FROM information_schema.columns
WHERE table_schema = current_schema() AND table_name = 'meta'
AND column_name IN ('name', 'value') AND data_type = 'text'

-- name: tables_named
SELECT relname FROM pg_class
WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
AND relname = ANY(%(names)s) ORDER BY relname
