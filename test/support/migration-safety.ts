/**
 * Finds migration statements that are unsafe during operation: those that hold a lock for as long as a table is large.
 * Tables created in the same file are empty, so any change is allowed. An exception is marked above the statement, such
 * as `-- safe: the table has one row`.
 */
import { isConcurrent, type Migration, statementsOf } from '../../control/platform/db/migrate.ts'

interface Rule {
  matches: RegExp
  says: string
}

/** `$1` is the table. */
const rules: Rule[] = [
  {
    matches: /^create (?:unique )?index (?!concurrently)(?:if not exists )?\S+ on (\S+)/,
    says: 'an index without concurrently',
  },
  { matches: /^alter table (\S+) .*\balter (?:column )?\S+ (?:set data )?type\b/, says: 'a rewrite of the table' },
  {
    matches: /^alter table (\S+) .*\bset not null\b/,
    says: 'not null reads the whole table: check it, not valid, and validate',
  },
  {
    matches:
      /^alter table (\S+) .*\badd (?:column )?(?:if not exists )?(?!constraint\b)\S+ [^,]*\bnot null\b(?![^,]*\bdefault\b)/,
    says: 'a column that is not null and has no default',
  },
  {
    matches:
      /^alter table (\S+) .*\badd (?:column )?[^,]*\bdefault (?:gen_random_uuid|random|clock_timestamp|nextval|uuidv7)\b/,
    says: 'a default that is another one for each row: a rewrite of the table',
  },
  {
    matches: /^alter table (\S+) .*\badd (?:column )?[^,]*\b(?:generated always as|serial|bigserial)\b/,
    says: 'a rewrite of the table',
  },
  {
    matches: /^alter table (\S+) .*\badd constraint \S+ (?:check|foreign key)\b(?!.*\bnot valid\b)/,
    says: 'a constraint that reads the whole table: add it not valid, and validate it by the next migration',
  },
  {
    matches: /^alter table (\S+) .*\badd (?:constraint \S+ )?(?:primary key|unique)\b(?! using index)/,
    says: 'an index without concurrently',
  },
  {
    matches: /^alter table (\S+) .*\b(?:drop column|rename)\b/,
    says: 'what the processes of the version before still use',
  },
  { matches: /^drop table (?:if exists )?(\S+)/, says: 'what the processes of the version before still use' },
  {
    matches: /^(?:with .*)?\bupdate (?:only )?(\S+) .*\bset\b/,
    says: 'a change of many rows: the code does it in batches',
  },
  { matches: /^(?:with .*)?\bdelete from (\S+)/, says: 'a deletion of many rows: the code does it in batches' },
  { matches: /^(?:truncate|lock|cluster|vacuum|reindex)(?: table)? (\S+)/, says: 'a lock that stays' },
]

const made = /^create table (?:if not exists )?(\S+)/

/** Findings in words; empty when the migration may run at any time. */
export function hazardsOf(migration: Pick<Migration, 'text'>): string[] {
  // Bodies of functions run later.
  const text = migration.text.replace(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''")
  const statements = statementsOf({ text: text.replace(/^-- safe: .+\n[^;]*;/gm, '') }).map(flat)
  const fresh = new Set(statements.map(one => made.exec(one)?.[1]).filter(name => name !== undefined))
  const found: string[] = []
  for (const statement of statements) {
    const concurrent = /^(?:create (?:unique )?|drop )index concurrently\b/.test(statement)
    if (concurrent !== isConcurrent(migration))
      found.push(`${statement}: concurrently is by itself, in a file that says so`)
    for (const { matches, says } of rules) {
      const table = matches.exec(statement)?.[1]
      if (table !== undefined && !fresh.has(table.replace(/[(;]$/, ''))) found.push(`${statement}: ${says}`)
    }
  }
  return found
}

const flat = (statement: string) => statement.toLowerCase().replace(/--.*$/gm, '').replace(/\s+/g, ' ').trim()
