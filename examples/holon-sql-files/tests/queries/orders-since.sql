-- Count the orders of each customer since a day.
-- database: shop.db
-- param since date: First day that counts, as YYYY-MM-DD.
-- param at_least integer = 1: Customers with fewer orders are left out.
SELECT customer, count(*) AS orders, sum(cents) AS cents
FROM orders
WHERE day >= :since
GROUP BY customer
HAVING count(*) >= :at_least
ORDER BY customer
