-- name: put_link
INSERT INTO links (source, type, target, strength, created_at) VALUES (:source, :type, :target, :strength, :created)
ON CONFLICT (source, type, target) DO UPDATE SET strength = excluded.strength
RETURNING created_at

-- name: strengthen_link
INSERT INTO links (source, type, target, strength, created_at)
VALUES (:source, :type, :target, :gain, :at)
ON CONFLICT (source, type, target) DO UPDATE SET
strength = links.strength * pow(:daily, max(0, :at - links.created_at) / 86400000000.0) + (1 - links.strength * pow(:daily, max(0, :at - links.created_at) / 86400000000.0)) * :gain,
created_at = max(links.created_at, excluded.created_at)

-- name: links_out
SELECT target AS memory, type, strength, 1 AS outgoing, created_at FROM links WHERE source = :key

-- name: links_in
SELECT source AS memory, type, strength, 0 AS outgoing, created_at FROM links WHERE target = :key

-- name: related_tail
SELECT {record}, reached.type, reached.strength, reached.outgoing, reached.created_at FROM reached
CROSS JOIN memories AS m ON m.key = reached.memory
LEFT JOIN uses AS u ON u.memory = m.key
WHERE m.state = :active AND (:type IS NULL OR reached.type = :type)
ORDER BY reached.strength DESC, reached.outgoing DESC, m.key, reached.type LIMIT :most

-- name: related_out
WITH reached AS ({links_out}) {related_tail}

-- name: related_in
WITH reached AS ({links_in}) {related_tail}

-- name: related_both
WITH reached AS ({links_out} UNION ALL {links_in}) {related_tail}

-- name: delete_links
DELETE FROM links WHERE source = :source AND target = :target
AND (:type IS NULL OR type = :type) RETURNING type

-- name: links_after
SELECT l.source, l.type, l.target, a.id, b.id, l.strength, l.created_at FROM links AS l
JOIN memories AS a ON a.key = l.source
JOIN memories AS b ON b.key = l.target
WHERE (l.source, l.type, l.target) > (:source, :type, :target)
AND a.partition IN (SELECT id FROM partitions WHERE tenant = :tenant)
ORDER BY l.source, l.type, l.target LIMIT :most

-- name: wanted_memories
carray(:ids) AS wanted CROSS JOIN memories AS w ON w.id = wanted.value
CROSS JOIN partitions AS p ON p.id = w.partition AND p.tenant = :tenant

-- name: pointing
SELECT DISTINCT m.key, m.id FROM {wanted_memories}
CROSS JOIN links AS l ON l.target = w.key
CROSS JOIN memories AS m ON m.key = l.source
WHERE l.type = :type ORDER BY m.key

-- name: pointed
SELECT DISTINCT m.key, m.id FROM {wanted_memories}
CROSS JOIN links AS l ON l.source = w.key
CROSS JOIN memories AS m ON m.key = l.target
WHERE l.type = :type ORDER BY m.key
