-- name: put_link
INSERT INTO links (source, type, target, strength, created_at) VALUES (?, ?, ?, ?, ?)
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
ORDER BY reached.strength DESC, reached.outgoing DESC, m.key, reached.type LIMIT :limit

-- name: related_out
WITH reached AS ({links_out}) {related_tail}

-- name: related_in
WITH reached AS ({links_in}) {related_tail}

-- name: related_both
WITH reached AS ({links_out} UNION ALL {links_in}) {related_tail}

-- name: delete_link
DELETE FROM links WHERE source = ? AND target = ? AND type = ?

-- name: delete_links
DELETE FROM links WHERE source = ? AND target = ?

-- name: links_after
SELECT l.source, l.type, l.target, a.id, b.id, l.strength, l.created_at FROM links AS l
JOIN memories AS a ON a.key = l.source
JOIN memories AS b ON b.key = l.target
WHERE (l.source, l.type, l.target) > (?, ?, ?)
AND a.partition IN (SELECT id FROM partitions WHERE tenant = ?)
ORDER BY l.source, l.type, l.target LIMIT ?

-- name: pointing
SELECT DISTINCT m.key, m.id FROM carray(?) AS wanted
CROSS JOIN links AS l ON l.target = wanted.value
CROSS JOIN memories AS m ON m.key = l.source
WHERE l.type = ? ORDER BY m.key

-- name: pointed
SELECT DISTINCT m.key, m.id FROM carray(?) AS wanted
CROSS JOIN links AS l ON l.source = wanted.value
CROSS JOIN memories AS m ON m.key = l.target
WHERE l.type = ? ORDER BY m.key
