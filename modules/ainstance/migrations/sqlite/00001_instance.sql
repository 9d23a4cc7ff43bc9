-- The table of instances, with the names that Vona gives it (a-instance). A table that Vona made is taken over as it is; what is
-- added to it is the index that makes a name unique.

-- +goose Up
CREATE TABLE IF NOT EXISTS "aInstance" (
    "id" integer PRIMARY KEY AUTOINCREMENT NOT NULL,
    "createdAt" datetime NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updatedAt" datetime NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted" boolean NOT NULL DEFAULT false,
    "disabled" boolean NOT NULL DEFAULT false,
    "isolate" boolean NOT NULL DEFAULT false,
    "name" text NOT NULL,
    "title" text,
    "config" text
);
CREATE UNIQUE INDEX IF NOT EXISTS "aInstance_name" ON "aInstance" ("name") WHERE "deleted" = false;
-- 1 is the default instance's, unless the configuration says otherwise: the first id that is given out is 2.
INSERT INTO sqlite_sequence (name, seq) SELECT 'aInstance', 1 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'aInstance');

-- +goose Down
DROP TABLE "aInstance";
