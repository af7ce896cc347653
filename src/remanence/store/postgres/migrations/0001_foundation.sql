-- Text is compared by code points everywhere, as Python compares it.
CREATE TABLE meta (
    name text COLLATE "C" PRIMARY KEY,
    value text COLLATE "C" NOT NULL
);

-- Names only: the one table about tenants that has no wall.
CREATE TABLE tenants (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE
);

CREATE TABLE embedders (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    fingerprint text COLLATE "C" NOT NULL UNIQUE,
    name text COLLATE "C" NOT NULL,
    digest text COLLATE "C" NOT NULL,
    dimension integer NOT NULL,
    pooling text COLLATE "C" NOT NULL,
    codes text COLLATE "C" NOT NULL,
    employers integer NOT NULL DEFAULT 0,  -- how many tenants have it in `employed`
    indexed boolean NOT NULL DEFAULT false  -- searched here, so its vectors have an HNSW index
);

CREATE SEQUENCE memory_keys;

-- `position` is the newest seq of the feed. Its row is locked last in every write, until the
-- commit, so that the order of seqs is the order of commits.
CREATE TABLE partitions (
    tenant integer NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    user_id text COLLATE "C" NOT NULL,  -- '' is no user
    position bigint NOT NULL DEFAULT 0,
    memories bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, user_id)
) WITH (fillfactor = 50);

CREATE TABLE memories (
    tenant integer NOT NULL,
    key bigint NOT NULL,
    partition bigint NOT NULL,
    happened_at bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    importance double precision NOT NULL,
    trust double precision NOT NULL,
    id uuid NOT NULL,
    superseded_by uuid,
    terms integer NOT NULL,
    characters integer NOT NULL,
    flags integer NOT NULL,
    version integer NOT NULL,
    kind smallint NOT NULL,
    state smallint NOT NULL,
    pinned smallint NOT NULL,
    agent_id text COLLATE "C",
    session_id text COLLATE "C",
    role text COLLATE "C",
    speaker text COLLATE "C",
    external_id text COLLATE "C",
    source text COLLATE "C",
    actor text COLLATE "C",
    origin text COLLATE "C",
    digest bytea NOT NULL,
    metadata text COLLATE "C",  -- as written: jsonb would change numbers
    text text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, key),
    UNIQUE (tenant, id)
) PARTITION BY HASH (tenant);
CREATE INDEX memories_by_time ON memories (tenant, partition, happened_at, key);
CREATE INDEX memories_by_session ON memories (tenant, partition, session_id)
    WHERE session_id IS NOT NULL;

-- `vector` is the exact form, which every index rescores with.
CREATE TABLE pieces (
    tenant integer NOT NULL,
    embedder integer NOT NULL,
    partition bigint NOT NULL,
    memory bigint NOT NULL,
    part integer NOT NULL,
    passage integer NOT NULL,
    start integer NOT NULL,
    stop integer NOT NULL,
    vector bytea NOT NULL,
    codes bytea NOT NULL,
    PRIMARY KEY (tenant, partition, embedder, memory, part)
) PARTITION BY HASH (tenant);
ALTER TABLE pieces ALTER vector SET STORAGE EXTERNAL, ALTER codes SET STORAGE EXTERNAL;

-- The form that pgvector searches, apart so that reading pieces stays narrow.
CREATE TABLE vectors (
    tenant integer NOT NULL,
    embedder integer NOT NULL,
    partition bigint NOT NULL,
    memory bigint NOT NULL,
    part integer NOT NULL,
    embedding halfvec NOT NULL,
    PRIMARY KEY (tenant, partition, embedder, memory, part)
) PARTITION BY HASH (tenant);

-- Embedders whose pieces a tenant has or is to have, and its memories that still wait for some.
CREATE TABLE employed (
    tenant integer NOT NULL,
    embedder integer NOT NULL,
    PRIMARY KEY (tenant, embedder)
);
CREATE TABLE pending (
    tenant integer NOT NULL,
    embedder integer NOT NULL,
    memory bigint NOT NULL,
    PRIMARY KEY (tenant, embedder, memory)
);

-- term: a digest of partition and term; place: memory << 8 | occurrences, at most 255. Row-level
-- security lets an index be used through leakproof operators only, which those of tsvector are not.
CREATE TABLE words (
    term bigint NOT NULL,
    place bigint NOT NULL,
    tenant integer NOT NULL,
    PRIMARY KEY (tenant, term, place)
) PARTITION BY HASH (tenant);

-- value: bytes in the order of the values they stand for (jsonb's operators are not leakproof).
CREATE TABLE labels (
    tenant integer NOT NULL,
    partition bigint NOT NULL,
    memory bigint NOT NULL,
    name text COLLATE "C" NOT NULL,
    value bytea NOT NULL,
    PRIMARY KEY (tenant, partition, name, value, memory)
) PARTITION BY HASH (tenant);

CREATE TABLE history (
    tenant integer NOT NULL,
    version integer NOT NULL,
    memory bigint NOT NULL,
    at bigint NOT NULL,
    verb text COLLATE "C" NOT NULL,
    actor text COLLATE "C",
    reason text COLLATE "C",
    before text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, memory, version)
) PARTITION BY HASH (tenant);

CREATE TABLE changes (
    partition bigint NOT NULL,
    seq bigint NOT NULL,
    memory bigint NOT NULL,
    tenant integer NOT NULL,
    PRIMARY KEY (tenant, partition, seq)
) PARTITION BY HASH (tenant);

CREATE TABLE receipts (
    tenant integer NOT NULL,
    at bigint NOT NULL,
    key text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,
    ids uuid[] NOT NULL,
    PRIMARY KEY (tenant, key)
);

CREATE TABLE uses (
    tenant integer NOT NULL,
    memory bigint NOT NULL,
    count bigint NOT NULL,
    last bigint,
    PRIMARY KEY (tenant, memory)
);

CREATE TABLE feedback (
    tenant integer NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    memory bigint NOT NULL,
    at bigint NOT NULL,
    useful smallint NOT NULL,
    query text COLLATE "C",
    PRIMARY KEY (tenant, memory, id)
);

CREATE TABLE links (
    tenant integer NOT NULL,
    source bigint NOT NULL,
    target bigint NOT NULL,
    strength double precision NOT NULL,
    created_at bigint NOT NULL,
    type text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, source, type, target)
);
CREATE INDEX links_by_target ON links (tenant, target);

-- The last write of each connection: whoever loses the connection in a commit looks here. (Numbers
-- of transactions will not do: a crash may lose one that was given out, and it is given out again.)
CREATE TABLE commits (
    tenant integer NOT NULL,
    writer bigint NOT NULL,
    token bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, writer)
) WITH (fillfactor = 50);

DO $$
DECLARE
    whole text;
    walled text;
BEGIN
    FOREACH whole IN ARRAY
        ARRAY['memories', 'pieces', 'vectors', 'words', 'labels', 'history', 'changes']
    LOOP
        FOR number IN 0..7 LOOP
            EXECUTE format(
                'CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 8, REMAINDER %s)',
                whole || '_' || number, whole, number
            );
            IF whole = 'vectors' THEN
                EXECUTE format('ALTER TABLE %I SET (toast_tuple_target = 8160)', whole || '_' || number);
            END IF;
        END LOOP;
    END LOOP;
    -- Parts can be read by their own names too, so each of them has the wall.
    FOR walled IN
        SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
        WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
        AND a.attname = 'tenant'
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', walled);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', walled);
        EXECUTE format(
            'CREATE POLICY wall ON %I
             USING (tenant = nullif(current_setting(''remanence.tenant'', true), '''')::integer)
             WITH CHECK (tenant = nullif(current_setting(''remanence.tenant'', true), '''')::integer)',
            walled
        );
    END LOOP;
END
$$;
