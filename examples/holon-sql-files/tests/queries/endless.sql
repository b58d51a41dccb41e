-- Count for ever; only its bounds end it.
-- database: shop.db
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n
