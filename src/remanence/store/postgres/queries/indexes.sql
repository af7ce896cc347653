-- name: want_index
UPDATE embedders SET indexed = true WHERE fingerprint = %(fingerprint)s AND NOT indexed

-- name: vector_tables
SELECT c.relname, pg_relation_size(c.oid) FROM pg_inherits AS i JOIN pg_class AS c
ON c.oid = i.inhrelid WHERE i.inhparent = 'vectors'::regclass ORDER BY c.relname

-- name: graphs
SELECT e.id, e.dimension, c.relname, coalesce(x.indisvalid, false)
FROM embedders AS e CROSS JOIN pg_inherits AS i JOIN pg_class AS c ON c.oid = i.inhrelid
LEFT JOIN pg_class AS g ON g.relname = c.relname || '_hnsw_' || e.id
    AND g.relnamespace = c.relnamespace
LEFT JOIN pg_index AS x ON x.indexrelid = g.oid AND x.indrelid = c.oid
WHERE i.inhparent = 'vectors'::regclass AND e.indexed
AND e.dimension <= %(most)s
ORDER BY e.id, c.relname

-- name: unwanted_graphs
SELECT g.relname FROM pg_index AS x JOIN pg_class AS g ON g.oid = x.indexrelid
JOIN pg_inherits AS i ON i.inhrelid = x.indrelid AND i.inhparent = 'vectors'::regclass
WHERE g.relname ~ '_hnsw_[0-9]+$' AND NOT EXISTS (
    SELECT 1 FROM embedders AS e WHERE e.indexed AND g.relname ~ ('_hnsw_' || e.id || '$')
)

-- name: every_graph
SELECT g.relname FROM pg_index AS x JOIN pg_class AS g ON g.oid = x.indexrelid
JOIN pg_inherits AS i ON i.inhrelid = x.indrelid AND i.inhparent = 'vectors'::regclass
WHERE g.relname ~ '_hnsw_[0-9]+$'
