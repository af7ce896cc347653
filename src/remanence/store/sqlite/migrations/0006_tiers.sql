-- A packed text is a BLOB in `memories.text`. `tainted`: a memory it was made of has been erased.
-- Kept twice, because every text that was packed with it depends on it.
CREATE TABLE dictionaries (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    among INTEGER NOT NULL,  -- how many memories the tenant had then
    tainted INTEGER NOT NULL DEFAULT 0,
    digest BLOB NOT NULL,
    body BLOB NOT NULL,
    spare BLOB NOT NULL
);

CREATE TABLE dictionary_sources (
    memory INTEGER NOT NULL,
    dictionary INTEGER NOT NULL REFERENCES dictionaries ON DELETE CASCADE,
    PRIMARY KEY (memory, dictionary)
) WITHOUT ROWID;

-- Memories that are not hot. A dictionary that one of them needs cannot be deleted.
CREATE TABLE tiers (
    memory INTEGER PRIMARY KEY REFERENCES memories ON DELETE CASCADE,
    tier INTEGER NOT NULL,
    dictionary INTEGER REFERENCES dictionaries
);

CREATE TRIGGER erased AFTER DELETE ON memories BEGIN
    UPDATE dictionaries SET tainted = 1
    WHERE id IN (SELECT dictionary FROM dictionary_sources WHERE memory = OLD.key);
    DELETE FROM dictionary_sources WHERE memory = OLD.key;
END;

-- What is written anew is hot again.
CREATE TRIGGER warmed AFTER UPDATE OF text ON memories WHEN typeof(NEW.text) = 'text' BEGIN
    DELETE FROM tiers WHERE memory = NEW.key;
END;
CREATE TRIGGER embedded_anew AFTER INSERT ON pieces BEGIN
    UPDATE tiers SET tier = 0 WHERE memory = NEW.place >> 24 AND tier > 0;
END;
