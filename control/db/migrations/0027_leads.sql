select 1; -- placeholder
