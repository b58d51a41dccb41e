-- Make more rows than fit into any answer.
-- database: shop.db
-- rows: 10000
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
SELECT i, hex(i) || ':' || 'a text that takes room' FROM n LIMIT 50000
