-- What version 1 of the tables held after a few writes, as its text: it has to open for good.
PRAGMA application_id = 1920234347;
PRAGMA user_version = 1;
CREATE TABLE reyn_task (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL,
  description TEXT NOT NULL,
  status TEXT NOT NULL,
  created INTEGER NOT NULL,
  changed INTEGER NOT NULL,
  change INTEGER NOT NULL UNIQUE
, outcome TEXT) STRICT;
CREATE INDEX reyn_task_status ON reyn_task (status, n);
CREATE TABLE reyn_wait (
  n INTEGER PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES reyn_task ON DELETE CASCADE,
  other INTEGER NOT NULL REFERENCES reyn_task ON DELETE CASCADE,
  UNIQUE (task, other)
) STRICT;
CREATE INDEX reyn_wait_other ON reyn_wait (other);
CREATE TABLE reyn_comment (
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  task INTEGER NOT NULL REFERENCES reyn_task ON DELETE CASCADE,
  text TEXT NOT NULL,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX reyn_comment_task ON reyn_comment (task, n);
CREATE TABLE reyn_write (
  key TEXT PRIMARY KEY,
  task INTEGER NOT NULL REFERENCES reyn_task ON DELETE CASCADE,
  comment INTEGER REFERENCES reyn_comment ON DELETE CASCADE,
  gave TEXT
) STRICT, WITHOUT ROWID;
CREATE TABLE reyn_life (id TEXT NOT NULL) STRICT;
INSERT INTO reyn_task (n, id, title, description, status, created, changed, change, outcome) VALUES (1, 't1', 'Count the orders', 'of May', 'done', 1700000000001, 1700000000005, 4, '42 orders');
INSERT INTO reyn_task (n, id, title, description, status, created, changed, change, outcome) VALUES (2, 't2', 'Mail the report', '', 'ready', 1700000000002, 1700000000006, 5, NULL);
INSERT INTO reyn_task (n, id, title, description, status, created, changed, change, outcome) VALUES (3, 't3', 'Look again', '', 'aborted', 1700000000007, 1700000000009, 8, 'nobody asked');
INSERT INTO reyn_wait (n, task, other) VALUES (1, 2, 1);
INSERT INTO reyn_wait (n, task, other) VALUES (2, 3, 2);
INSERT INTO reyn_comment (n, task, text, at) VALUES (1, 1, 'Ask Ana first', 1700000000004);
INSERT INTO reyn_write (key, task, comment, gave) VALUES ('k1', 1, NULL, '{"status":"unassigned","waitsFor":[],"changedAt":1700000000001}');
INSERT INTO reyn_write (key, task, comment, gave) VALUES ('k2', 2, NULL, '{"status":"unassigned","waitsFor":["t1"],"changedAt":1700000000002}');
INSERT INTO reyn_write (key, task, comment, gave) VALUES ('k3', 2, NULL, '{"status":"blocked","waitsFor":["t1"],"changedAt":1700000000003}');
INSERT INTO reyn_write (key, task, comment, gave) VALUES ('k4', 1, 1, NULL);
INSERT INTO reyn_write (key, task, comment, gave) VALUES ('k5', 1, NULL, '{"status":"done","waitsFor":[],"changedAt":1700000000005,"outcome":"42 orders"}');
INSERT INTO reyn_write (key, task, comment, gave) VALUES ('k6', 3, NULL, '{"status":"unassigned","waitsFor":[],"changedAt":1700000000007}');
INSERT INTO reyn_write (key, task, comment, gave) VALUES ('k7', 3, NULL, '{"status":"unassigned","waitsFor":["t2"],"changedAt":1700000000008}');
INSERT INTO reyn_write (key, task, comment, gave) VALUES ('k8', 3, NULL, '{"status":"aborted","waitsFor":["t2"],"changedAt":1700000000009,"outcome":"nobody asked"}');
INSERT INTO reyn_life (id) VALUES ('0123456789abcdef');
