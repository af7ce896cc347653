CREATE TABLE entities (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    partition INTEGER NOT NULL REFERENCES partitions,
    id BLOB NOT NULL,
    name TEXT NOT NULL,
    folded TEXT NOT NULL,
    type TEXT NOT NULL,
    given INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    digest BLOB NOT NULL,
    UNIQUE (id, partition)
);
CREATE INDEX entities_by_name ON entities (partition, folded, id);

CREATE TABLE claims (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL,
    partition INTEGER NOT NULL REFERENCES partitions,
    subject INTEGER NOT NULL REFERENCES entities,
    object INTEGER REFERENCES entities,
    memory INTEGER REFERENCES memories ON DELETE CASCADE,
    denies INTEGER NOT NULL,
    confidence REAL NOT NULL,
    trust REAL NOT NULL,
    observed_at INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL,
    rested_at INTEGER,
    retired_at INTEGER,
    agent_id TEXT,
    session_id TEXT,
    predicate TEXT NOT NULL,
    kind TEXT NOT NULL,
    origin TEXT NOT NULL,
    began TEXT,  -- [start, end], here and in the next
    ended TEXT,
    digest BLOB NOT NULL,
    reason TEXT,
    metadata TEXT,
    value TEXT NOT NULL,
    text TEXT NOT NULL,
    UNIQUE (id, partition)
);
CREATE INDEX claims_by_time ON claims (partition, recorded_at);
CREATE INDEX claims_by_subject ON claims (subject);
CREATE INDEX claims_by_object ON claims (object) WHERE object IS NOT NULL;
CREATE INDEX claims_by_memory ON claims (memory) WHERE memory IS NOT NULL;
CREATE INDEX claims_of_ties ON claims (partition)
    WHERE object IS NOT NULL AND rested_at IS NULL AND retired_at IS NULL AND denies = 0;

CREATE TABLE mentions (
    memory INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    entity INTEGER NOT NULL REFERENCES entities,
    partition INTEGER NOT NULL,
    PRIMARY KEY (memory, entity)
) WITHOUT ROWID;
CREATE INDEX mentions_by_entity ON mentions (entity);
CREATE INDEX mentions_by_partition ON mentions (partition);

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('entities', 'sqlite_autoindex_entities_1', '200000 1 1'),
    ('entities', 'entities_by_name', '200000 4000 1 1'),
    ('claims', 'sqlite_autoindex_claims_1', '1000000 1 1'),
    ('claims', 'claims_by_time', '1000000 20000 2'),
    ('claims', 'claims_by_subject', '1000000 20'),
    ('claims', 'claims_by_object', '500000 20'),
    ('claims', 'claims_by_memory', '1000000 2'),
    ('claims', 'claims_of_ties', '500000 10000'),
    ('mentions', 'mentions', '3000000 3 1'),
    ('mentions', 'mentions_by_entity', '3000000 30 1'),
    ('mentions', 'mentions_by_partition', '3000000 60000 3 1');
-- Read them now: a store in memory is never opened again.
ANALYZE sqlite_schema;
