import postgres from 'postgres'
import { cleanJson } from './text.ts'

type Types = Record<'bigint', bigint>
export type Sql = postgres.Sql<Types>
export type Tx = postgres.TransactionSql<Types>
/** A query runs on the pool or inside a transaction. */
export type Db = postgres.ISql<Types>

export interface DatabaseOptions {
  url: string
  /** Schema of all tables; `parley` by default. */
  schema?: string
  max?: number
}

export function connect({ url, schema = 'parley', max = 10 }: DatabaseOptions): Sql {
  return postgres(url, {
    max,
    // Seconds. A host that drops packets must not hold a request for the default half minute.
    connect_timeout: 10,
    onnotice: () => {},
    connection: { search_path: schema, application_name: 'parley-control' },
    types: {
      bigint: postgres.BigInt,
      // pg-boss binds JSON that is already text; encoding it again would make it a JSON string.
      json: {
        to: 114,
        from: [114, 3802],
        serialize: (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)),
        parse: (text: string) => JSON.parse(text),
      },
    },
  }) as unknown as Sql
}

/**
 * The server probes an idle connection after one second, once more after another, and then releases the locks of a lost
 * machine.
 */
const ASKED_AFTER_S = '1'
const lostSoon = {
  tcp_keepalives_idle: ASKED_AFTER_S,
  tcp_keepalives_interval: ASKED_AFTER_S,
  tcp_keepalives_count: '1',
  tcp_user_timeout: '2000',
}

/** Opens a single connection outside the pool, for session locks. The caller must end it. */
export function connectAlone(sql: Sql): Sql {
  const connection = { ...sql.options.connection, ...lostSoon }
  const options = { ...sql.options, connection, max: 1, idle_timeout: null, max_lifetime: null }
  return postgres(options as never) as unknown as Sql
}

/** Binds an object as JSON. */
export function json(db: Db, value: unknown) {
  return db.json(cleanJson(value))
}
