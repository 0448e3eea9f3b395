-- Whether an account has paid for a company before is asked for by what makes it that company.
create index lead_identities_identity on lead_identities (identity);
