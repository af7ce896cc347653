-- name: columns
SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum),
    bool_or(a.attname = 'tenant') FROM pg_class AS c
JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
AND NOT c.relispartition AND c.relname <> 'commits' GROUP BY c.relname ORDER BY c.relname

-- name: sequences
SELECT s.relname FROM pg_class AS s
WHERE s.relnamespace = current_schema()::regnamespace AND s.relkind = 'S' ORDER BY s.relname

-- name: others_connected
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = %(application)s
AND usename = current_user AND pid <> pg_backend_pid()
