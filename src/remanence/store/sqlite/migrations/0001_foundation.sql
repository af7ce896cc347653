CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value
) WITHOUT ROWID;

CREATE TABLE partitions (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    user_id TEXT NOT NULL,  -- '' is no user
    UNIQUE (tenant, user_id)
);

-- Small columns first, so that traits are read without touching overflow pages.
CREATE TABLE memories (
    key INTEGER PRIMARY KEY AUTOINCREMENT,
    id BLOB NOT NULL UNIQUE,
    partition INTEGER NOT NULL REFERENCES partitions,
    kind INTEGER NOT NULL,
    state INTEGER NOT NULL,
    happened_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    terms INTEGER NOT NULL,
    characters INTEGER NOT NULL,
    flags INTEGER NOT NULL,
    importance REAL NOT NULL,
    trust REAL NOT NULL,
    pinned INTEGER NOT NULL,
    version INTEGER NOT NULL,
    agent_id TEXT,
    session_id TEXT,
    role TEXT,
    speaker TEXT,
    external_id TEXT,
    source TEXT,
    actor TEXT,
    origin TEXT,
    superseded_by BLOB,
    digest BLOB NOT NULL,
    metadata TEXT,
    text TEXT NOT NULL
);
CREATE INDEX memories_by_time ON memories (partition, happened_at);
CREATE INDEX memories_by_session ON memories (partition, session_id) WHERE session_id IS NOT NULL;

CREATE TABLE embedders (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    fingerprint TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    digest TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    pooling TEXT NOT NULL,
    codes TEXT NOT NULL
);

-- place = memory << 24 | embedder << 14 | part: a rowid finds a piece in one descent and keeps
-- up to 4 KB on the page, which a composite key does not.
CREATE TABLE pieces (
    place INTEGER PRIMARY KEY,
    passage INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    vector BLOB NOT NULL,
    codes BLOB NOT NULL
);

-- Memories that a known embedder has not seen yet.
CREATE TABLE pending (
    embedder INTEGER NOT NULL REFERENCES embedders ON DELETE CASCADE,
    memory INTEGER NOT NULL,
    PRIMARY KEY (embedder, memory)
) WITHOUT ROWID;

CREATE TABLE labels (
    partition INTEGER NOT NULL,
    name TEXT NOT NULL,
    value NOT NULL,
    memory INTEGER NOT NULL,
    PRIMARY KEY (partition, name, value, memory)
) WITHOUT ROWID;

CREATE TABLE history (
    memory INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    version INTEGER NOT NULL,
    verb TEXT NOT NULL,
    at INTEGER NOT NULL,
    actor TEXT,
    reason TEXT,
    before TEXT NOT NULL,
    PRIMARY KEY (memory, version)
) WITHOUT ROWID;

CREATE TABLE changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    partition INTEGER NOT NULL,
    memory INTEGER NOT NULL
);

CREATE TABLE receipts (
    tenant TEXT NOT NULL,
    key TEXT NOT NULL,
    digest BLOB NOT NULL,
    ids BLOB NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) WITHOUT ROWID;

CREATE TABLE uses (
    memory INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
    count INTEGER NOT NULL,
    last INTEGER
);

CREATE TABLE feedback (
    id INTEGER PRIMARY KEY,
    memory INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    useful INTEGER NOT NULL,
    query TEXT,
    at INTEGER NOT NULL
);
CREATE INDEX feedback_by_memory ON feedback (memory);

CREATE TABLE links (
    source INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    type TEXT NOT NULL,
    target INTEGER NOT NULL REFERENCES memories ON DELETE CASCADE,
    strength REAL NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (source, type, target)
) WITHOUT ROWID;
CREATE INDEX links_by_target ON links (target);

CREATE VIEW memory_words (key, terms) AS
    SELECT key, remanence_words(partition, text) FROM memories;
CREATE VIRTUAL TABLE words USING fts5 (
    terms, content = 'memory_words', content_rowid = 'key', tokenize = 'ascii', columnsize = 0
);
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE words_terms USING fts5vocab (words, 'instance');
CREATE VIRTUAL TABLE words_rows USING fts5vocab (words, 'row');

-- Figures for the planner, given rather than measured, so that plans are alike in every store.
ANALYZE sqlite_schema;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('memories', 'memories_by_time', '1000000 20000 2'),
    ('memories', 'memories_by_session', '1000000 20000 30'),
    ('memories', 'sqlite_autoindex_memories_1', '1000000 1'),
    ('labels', 'labels', '3000000 60000 20000 200 1');
