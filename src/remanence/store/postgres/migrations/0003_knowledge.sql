CREATE SEQUENCE entity_numbers;
CREATE SEQUENCE claim_keys;

-- head: how `folded` begins; the whole of it can be too long for an index.
CREATE TABLE entities (
    tenant integer NOT NULL,
    number bigint NOT NULL DEFAULT nextval('entity_numbers'),
    partition bigint NOT NULL,
    created_at bigint NOT NULL,
    id uuid NOT NULL,
    given smallint NOT NULL,
    digest bytea NOT NULL,
    type text COLLATE "C" NOT NULL,
    head text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    folded text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, number),
    UNIQUE (tenant, id, partition)
) PARTITION BY HASH (tenant);
CREATE INDEX entities_by_name ON entities (tenant, partition, head);

-- Written once; only `rested_at` and `retired_at` change.
CREATE TABLE claims (
    tenant integer NOT NULL,
    key bigint NOT NULL DEFAULT nextval('claim_keys'),
    partition bigint NOT NULL,
    subject bigint NOT NULL,
    object bigint,
    memory bigint,
    observed_at bigint NOT NULL,
    recorded_at bigint NOT NULL,
    rested_at bigint,
    retired_at bigint,
    confidence double precision NOT NULL,
    trust double precision NOT NULL,
    id uuid NOT NULL,
    denies smallint NOT NULL,
    digest bytea NOT NULL,
    agent_id text COLLATE "C",
    session_id text COLLATE "C",
    predicate text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    origin text COLLATE "C" NOT NULL,
    began text COLLATE "C",  -- [start, end], here and in the next
    ended text COLLATE "C",
    reason text COLLATE "C",
    metadata text COLLATE "C",  -- as written: jsonb would change numbers
    value text COLLATE "C" NOT NULL,
    text text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, key),
    UNIQUE (tenant, id, partition)
) PARTITION BY HASH (tenant);
CREATE INDEX claims_by_time ON claims (tenant, partition, recorded_at, key);
CREATE INDEX claims_by_subject ON claims (tenant, subject);
CREATE INDEX claims_by_object ON claims (tenant, object) WHERE object IS NOT NULL;
CREATE INDEX claims_by_memory ON claims (tenant, memory) WHERE memory IS NOT NULL;
CREATE INDEX claims_of_ties ON claims (tenant, partition, key)
    WHERE object IS NOT NULL AND rested_at IS NULL AND retired_at IS NULL AND denies = 0;

CREATE TABLE mentions (
    tenant integer NOT NULL,
    partition bigint NOT NULL,
    memory bigint NOT NULL,
    entity bigint NOT NULL,
    PRIMARY KEY (tenant, partition, memory, entity)
) PARTITION BY HASH (tenant);
CREATE INDEX mentions_by_entity ON mentions (tenant, entity, memory);

DO $$
DECLARE
    whole text;
    walled text;
BEGIN
    FOREACH whole IN ARRAY ARRAY['entities', 'claims', 'mentions'] LOOP
        FOR number IN 0..7 LOOP
            EXECUTE format(
                'CREATE TABLE %I PARTITION OF %I FOR VALUES WITH (MODULUS 8, REMAINDER %s)',
                whole || '_' || number, whole, number
            );
        END LOOP;
        -- Parts can be read by their own names too, so each of them has the wall.
        FOR walled IN
            SELECT whole UNION ALL SELECT whole || '_' || number FROM generate_series(0, 7) AS number
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
    END LOOP;
END
$$;
