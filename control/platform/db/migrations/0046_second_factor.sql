-- The second factor of a person: codes of an app (TOTP, RFC 6238), passkeys (WebAuthn), and recovery codes.
create table second_factors (
  -- As in `people`.
  person_id uuid primary key,
  owner_id uuid not null references accounts,
  -- Sealed for the person.
  totp_sealed text not null,
  -- Null: the app has not shown a right code yet.
  totp_confirmed_at timestamptz(3),
  -- Time step of the last code that was accepted. No code of this step or an earlier one is accepted again.
  totp_step bigint
);
create index second_factors_owner on second_factors (owner_id);

create table recovery_codes (
  -- SHA-256 of the person and 80 random bits.
  hash bytea primary key,
  owner_id uuid not null references accounts,
  person_id uuid not null,
  created_at timestamptz(3) not null
);
create index recovery_codes_person on recovery_codes (owner_id, person_id);

create table passkeys (
  id uuid primary key,
  owner_id uuid not null references accounts,
  person_id uuid not null,
  credential_id text not null unique,
  public_key bytea not null,
  -- Signatures that the authenticator has counted; 0: it does not count.
  counter bigint not null,
  transports text[] not null,
  name text not null,
  created_at timestamptz(3) not null,
  last_used_at timestamptz(3)
);
create index passkeys_person on passkeys (owner_id, person_id, created_at);

alter table accounts add column require_second_factor boolean not null default false;
alter table sessions
  -- The last proof of the second factor: at the log-in, or again for a change.
  add column proved_at timestamptz(3),
  -- The last proof that was asked for by itself.
  add column stepped_up_at timestamptz(3);
