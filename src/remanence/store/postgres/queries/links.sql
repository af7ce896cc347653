-- name: put_link
INSERT INTO links (tenant, source, type, target, strength, created_at)
VALUES (%(tenant)s, %(source)s, %(type)s, %(target)s, %(strength)s, %(created)s)
ON CONFLICT (tenant, source, type, target) DO UPDATE SET strength = excluded.strength
RETURNING created_at

-- name: strengthen_link
INSERT INTO links (tenant, source, type, target, strength, created_at)
VALUES (%(tenant)s, %(source)s, %(type)s, %(target)s, %(gain)s, %(at)s)
ON CONFLICT (tenant, source, type, target) DO UPDATE SET
strength = links.strength * power(%(daily)s::float8, greatest(0, %(at)s - links.created_at) / 86400000000.0) + (1 - links.strength * power(%(daily)s::float8, greatest(0, %(at)s - links.created_at) / 86400000000.0)) * %(gain)s,
created_at = greatest(links.created_at, excluded.created_at)

-- name: links_out
SELECT target AS memory, type, strength, 1 AS outgoing, created_at FROM links
WHERE tenant = %(tenant)s AND source = %(key)s

-- name: links_in
SELECT source AS memory, type, strength, 0 AS outgoing, created_at FROM links
WHERE tenant = %(tenant)s AND target = %(key)s

-- name: related_tail
SELECT {record}, reached.type, reached.strength, reached.outgoing, reached.created_at FROM reached
JOIN memories AS m ON m.tenant = %(tenant)s AND m.key = reached.memory
LEFT JOIN uses AS u ON u.tenant = m.tenant AND u.memory = m.key
WHERE m.state = %(active)s AND (%(type)s::text IS NULL OR reached.type = %(type)s::text)
ORDER BY reached.strength DESC, reached.outgoing DESC, m.key, reached.type LIMIT %(most)s

-- name: related_out
WITH reached AS ({links_out}) {related_tail}

-- name: related_in
WITH reached AS ({links_in}) {related_tail}

-- name: related_both
WITH reached AS ({links_out} UNION ALL {links_in}) {related_tail}

-- name: delete_links
DELETE FROM links WHERE tenant = %(tenant)s AND source = %(source)s AND target = %(target)s
AND (%(type)s::text IS NULL OR type = %(type)s::text) RETURNING type

-- name: links_after
SELECT l.source, l.type, l.target, a.id, b.id, l.strength, l.created_at FROM links AS l
JOIN memories AS a ON a.tenant = l.tenant AND a.key = l.source
JOIN memories AS b ON b.tenant = l.tenant AND b.key = l.target
WHERE l.tenant = %(tenant)s
AND (l.source, l.type, l.target) > (%(source)s, %(type)s, %(target)s)
ORDER BY l.source, l.type, l.target LIMIT %(most)s

-- name: pointing
SELECT DISTINCT m.key, m.id FROM memories AS t
JOIN links AS l ON l.tenant = t.tenant AND l.target = t.key AND l.type = %(type)s
JOIN memories AS m ON m.tenant = l.tenant AND m.key = l.source
WHERE t.tenant = %(tenant)s AND t.id = ANY(%(ids)s) ORDER BY m.key

-- name: pointed
SELECT DISTINCT m.key, m.id FROM memories AS s
JOIN links AS l ON l.tenant = s.tenant AND l.source = s.key AND l.type = %(type)s
JOIN memories AS m ON m.tenant = l.tenant AND m.key = l.target
WHERE s.tenant = %(tenant)s AND s.id = ANY(%(ids)s) ORDER BY m.key
