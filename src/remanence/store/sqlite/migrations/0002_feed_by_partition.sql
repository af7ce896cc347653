-- Every partition is followed by itself; an entry of this index is (partition, seq).
CREATE INDEX changes_by_partition ON changes (partition);
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES ('changes', 'changes_by_partition', '1000000 20000');
