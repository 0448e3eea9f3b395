-- concurrently
-- Unique within an account; across accounts, the trunk snapshot looks for numbers that several have.
drop index concurrently if exists numbers_by_number;
create unique index concurrently numbers_by_number on numbers (number, owner_id);
drop index concurrently if exists numbers_number;
