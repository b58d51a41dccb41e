-- List orders of any database that has the table.
-- rows: 1000
SELECT * FROM orders ORDER BY id
