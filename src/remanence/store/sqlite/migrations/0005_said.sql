-- The text moves behind the new columns: what lies after a long text is on its overflow pages.
DROP VIEW memory_words;
ALTER TABLE memories ADD COLUMN said_from INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN said_to INTEGER NOT NULL DEFAULT 0;
ALTER TABLE memories ADD COLUMN moved TEXT NOT NULL DEFAULT '';
UPDATE memories SET moved = text;
ALTER TABLE memories DROP COLUMN text;
ALTER TABLE memories RENAME COLUMN moved TO text;
CREATE VIEW memory_words (key, terms) AS
    SELECT key, remanence_words(partition, text) FROM memories;
