-- concurrently
-- Whoever deletes a contact asks for its calls, and so does the database.
drop index concurrently if exists calls_contact;
create index concurrently calls_contact on calls (contact_id) where contact_id is not null;
