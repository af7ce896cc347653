-- name: sizes
SELECT memories, (
    SELECT reltuples::bigint FROM pg_class WHERE oid = (
        SELECT tableoid FROM vectors
        WHERE tenant = %(tenant)s AND partition = %(partition)s AND embedder = %(embedder)s LIMIT 1
    )
) FROM partitions WHERE tenant = %(tenant)s AND id = %(partition)s

-- name: count_vectors
SELECT count(*) FROM vectors
WHERE tenant = %(tenant)s AND partition = %(partition)s AND embedder = %(embedder)s

-- name: steer
SELECT set_config('hnsw.iterative_scan', 'relaxed_order', true),
    set_config('hnsw.ef_search', %(effort)s, true), set_config('enable_sort', 'off', true)

-- name: from_here
FROM vectors
WHERE tenant = %(tenant)s AND partition = %(partition)s AND embedder = {by}

-- name: of_allowed
AND memory = ANY(%(allowed)s)

-- name: by_graph
ORDER BY embedding::halfvec({dimension}) <#> %(query)s LIMIT %(most)s

-- name: near_by_graph
SELECT memory, part, embedding::halfvec({dimension}) <#> %(query)s AS distance
{from_here} {by_graph}

-- name: allowed_by_graph
SELECT memory, part, embedding::halfvec({dimension}) <#> %(query)s AS distance
{from_here} {of_allowed} {by_graph}

-- name: near_one_by_one
SELECT memory, part, embedding <#> %(query)s AS distance
{from_here} ORDER BY distance LIMIT %(most)s

-- name: allowed_one_by_one
SELECT memory, part, embedding <#> %(query)s AS distance
{from_here} {of_allowed} ORDER BY distance LIMIT %(most)s

-- name: with_pieces
SELECT near.memory, near.part, p.vector FROM ({near}) AS near
JOIN pieces AS p ON p.tenant = %(tenant)s AND p.partition = %(partition)s
AND p.embedder = {by} AND p.memory = near.memory AND p.part = near.part
