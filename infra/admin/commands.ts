/** The commands of `npm run admin`. Each result has a form for programs (`--json`) and one for people. */
import { open, rm } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { ParseArgsOptionsConfig } from 'node:util'
import { Email, Password } from '../../control/access/accounts/schema.ts'
import {
  minutePriceOf,
  setMinutePrice,
  setSubscription,
  subscriptionOf,
  topUp,
} from '../../control/access/accounts/service.ts'
import type { AccountRow } from '../../control/access/accounts/sql.ts'
import { audited, noteDone } from '../../control/access/audit/service.ts'
import { createKey, listKeys, revoke } from '../../control/access/keys/service.ts'
import { selectKeyOwner } from '../../control/access/keys/sql.ts'
import { createPerson } from '../../control/access/login/login.ts'
import { hashPassword } from '../../control/access/login/passwords.ts'
import { selectPersonByEmail } from '../../control/access/people/sql.ts'
import { deleteSecondFactor } from '../../control/access/second-factor/sql.ts'
import { whoseOf } from '../../control/access/sessions/sessions.ts'
import { deleteSessions } from '../../control/access/sessions/sql.ts'
import { balanceOf, fromUnits } from '../../control/billing/money.ts'
import { exportAccount } from '../../control/data/accounts/export.ts'
import { byOperator, eraseAccount, findAccount, listAccounts, Refused } from '../../control/data/accounts/operator.ts'
import type { Deps } from '../../control/deps.ts'
import { type Scope, scopes } from '../../control/platform/http/caller.ts'
import { Problem } from '../../control/platform/http/problem.ts'
import { card, type Row, table } from './print.ts'

export type AdminDeps = Pick<Deps, 'sql' | 'clock' | 'config' | 'boss' | 'blobs' | 'log'>

export class UsageError extends Error {}

export interface Context {
  deps: AdminDeps
  /** Exactly the arguments that the command declares. */
  args: string[]
  options: Record<string, string | boolean | undefined>
  /** Reads from a prompt or standard input. */
  readPassword(): Promise<string>
}

export interface Result {
  json: unknown
  text: string
}

export interface Command {
  args: string[]
  options: ParseArgsOptionsConfig
  /** The options as shown in the help. */
  usage: string
  about: string
  /** True when the command changes the account or key named by its first argument, or creates an account. */
  changes?: true
  run(context: Context): Promise<Result>
}

const isUuid = (text: string) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
const MOST_MONEY = 100_000_000_000
const PAGE = { limit: 200, offset: 0 }

function amountOf(text: string): string {
  if (!/^\d+(?:\.\d{1,4})?$/.test(text)) throw new UsageError(`"${text}" is not an amount. Write it as 150 or 150.50.`)
  if (Number(text) > MOST_MONEY) throw new UsageError(`"${text}" exceeds the maximum of ${MOST_MONEY}.`)
  return text
}

function required(options: Context['options'], name: string): string {
  const value = options[name]
  if (typeof value !== 'string' || value === '') throw new UsageError(`Missing option --${name}.`)
  return value
}

const optional = (options: Context['options'], name: string) => (options[name] as string | undefined) ?? null

function dateOf(text: string): Date {
  const date = new Date(text)
  // JavaScript parses 31 February as a day in March.
  const isDay =
    !Number.isNaN(Date.parse(text.slice(0, 10))) &&
    new Date(text.slice(0, 10)).toISOString().startsWith(text.slice(0, 10))
  if (!/^\d{4}-\d\d-\d\d(?:T.+)?$/.test(text) || !isDay || Number.isNaN(date.getTime())) {
    throw new UsageError(`"${text}" is not a date. Write it as 2027-01-31 or 2027-01-31T12:00:00Z.`)
  }
  return date
}

async function view(deps: AdminDeps, account: AccountRow): Promise<Row> {
  const [balance, price, subscription] = await Promise.all([
    balanceOf(deps.sql, account.id),
    minutePriceOf(deps, account.id),
    subscriptionOf(deps, account.id),
  ])
  return {
    id: account.id,
    email: account.email,
    name: account.name,
    balance: fromUnits(balance.available),
    held: fromUnits(balance.held),
    currency: deps.config.currency,
    minute_price: fromUnits(price),
    own_price: account.minute_price !== null,
    subscription: subscription.status,
    ends_at: subscription.ends_at?.toISOString() ?? null,
    created_at: account.created_at.toISOString(),
    deleted_at: account.deleted_at?.toISOString() ?? null,
  }
}

async function shown(deps: AdminDeps, id: string): Promise<Result> {
  const row = await view(deps, await findAccount(deps, id, { deletedToo: true }))
  return { json: row, text: card(row) }
}

const accountCommands: Record<string, Command> = {
  accounts: {
    args: [],
    options: {},
    usage: '',
    about: 'List accounts.',
    async run({ deps }) {
      const rows = (await listAccounts(deps)).map(row => ({
        id: row.id,
        email: row.email,
        name: row.name,
        balance: fromUnits(row.available),
        held: fromUnits(row.held),
        subscription: row.status,
        ends_at: row.ends_at?.toISOString() ?? null,
      }))
      return { json: rows, text: table(rows) }
    },
  },
  account: {
    args: ['id|email'],
    options: {},
    usage: '',
    about: 'Show an account.',
    run: ({ deps, args }) => shown(deps, args[0]!),
  },
  'create-account': {
    args: [],
    options: { email: { type: 'string' }, name: { type: 'string' }, password: { type: 'boolean' } },
    usage: '--email <email> [--name <name>] [--password]',
    changes: true,
    about:
      'Create an account with a trial balance and an example project, even while sign-up is off.\n' +
      'With --password, enter a password or pass it on standard input. Without it, the owner sets one by e-mail reset.',
    async run({ deps, options, readPassword }) {
      const email = Email.safeParse(required(options, 'email'))
      if (!email.success) throw new UsageError(`"${options['email']}" is not an e-mail address.`)
      let password_hash: string | null = null
      if (options['password']) {
        const password = Password.safeParse(await readPassword())
        if (!password.success) throw new UsageError('A password must have 10 to 256 characters.')
        password_hash = await hashPassword(password.data)
      }
      const name = options['name'] as string | undefined
      const account = await createPerson(deps, { email: email.data, name, password_hash })
      return shown(deps, account.id)
    },
  },
  'top-up': {
    args: ['id|email', 'amount'],
    options: { reference: { type: 'string' } },
    usage: '[--reference <text>]',
    changes: true,
    about:
      'Add money to an account. The owner sees the reference. It is stored permanently: do not put personal data in it.',
    async run({ deps, args, options }) {
      const amount = amountOf(args[1]!)
      if (Number(amount) === 0) throw new UsageError('The amount must be greater than zero.')
      const account = await findAccount(deps, args[0]!)
      await topUp(deps, account.id, amount, optional(options, 'reference'))
      return shown(deps, account.id)
    },
  },
  'set-subscription': {
    args: ['id|email', 'active|inactive'],
    options: { until: { type: 'string' }, plan: { type: 'string' } },
    usage: '[--until <date>] [--plan <name>]',
    changes: true,
    about:
      'Activate or deactivate a subscription. Without --until it never expires. Without --plan the plan is unchanged.',
    async run({ deps, args, options }) {
      const status = args[1]
      if (status !== 'active' && status !== 'inactive')
        throw new UsageError('The status must be "active" or "inactive".')
      const until = optional(options, 'until')
      const ends_at = until === null ? null : dateOf(until)
      const account = await findAccount(deps, args[0]!)
      await setSubscription(deps, account.id, optional(options, 'plan'), { status, ends_at })
      return shown(deps, account.id)
    },
  },
  'reset-second-factor': {
    args: ['id|email', 'person'],
    options: {},
    usage: '',
    changes: true,
    about:
      'Remove app codes, passkeys and recovery codes of a person (an e-mail) of an account, and end the person’s sessions.\n' +
      'Make sure by other means that it is the person who asks.',
    async run({ deps, args }) {
      const account = await findAccount(deps, args[0]!)
      const person = await selectPersonByEmail(deps.sql, args[1]!)
      if (person?.owner_id !== account.id) throw new Refused(`The account has no person ${args[1]}.`)
      await deps.sql.begin(async tx => {
        await deleteSecondFactor(tx, person)
        await deleteSessions(tx, whoseOf(person))
      })
      return shown(deps, account.id)
    },
  },
  'set-price': {
    args: ['id|email', 'price|default'],
    options: {},
    usage: '',
    changes: true,
    about: 'Set the price per minute, from the next call on. "default" restores the installation’s price.',
    async run({ deps, args }) {
      const price = args[1] === 'default' ? null : amountOf(args[1]!)
      const account = await findAccount(deps, args[0]!)
      await setMinutePrice(deps, account.id, price)
      return shown(deps, account.id)
    },
  },
}

const keyLine = <K extends { scopes: string[]; addresses: string[] | null; project_ids: string[] | null }>(key: K) => ({
  ...key,
  scopes: key.scopes.join(','),
  addresses: key.addresses?.join(',') ?? 'all',
  project_ids: key.project_ids?.join(',') ?? 'all',
})

const keyCommands: Record<string, Command> = {
  keys: {
    args: ['id|email'],
    options: {},
    usage: '',
    about: 'List an account’s API keys, newest first (up to 200).',
    async run({ deps, args }) {
      const account = await findAccount(deps, args[0]!)
      const { items } = await listKeys(deps, account.id, PAGE)
      return { json: items, text: table(items.map(keyLine)) }
    },
  },
  'create-key': {
    args: ['id|email'],
    options: { name: { type: 'string' }, scopes: { type: 'string' } },
    usage: `--name <name> --scopes ${scopes.join(',')}`,
    changes: true,
    about: 'Create an API key. The key is shown only once.',
    async run({ deps, args, options }) {
      const name = required(options, 'name')
      const wanted = [...new Set(required(options, 'scopes').split(','))]
      const unknown = wanted.find(scope => !scopes.includes(scope as Scope))
      if (unknown !== undefined) throw new UsageError(`Unknown scope "${unknown}". Use ${scopes.join(' or ')}.`)
      const account = await findAccount(deps, args[0]!)
      const key = await createKey(deps, account.id, { name, scopes: wanted as Scope[] })
      return { json: key, text: card(keyLine(key)) }
    },
  },
  'revoke-key': {
    args: ['key-id'],
    options: {},
    usage: '',
    changes: true,
    about: 'Revoke an API key. It stops working everywhere within 5 seconds.',
    async run({ deps, args }) {
      const id = args[0]!
      if (!isUuid(id)) throw new UsageError('Pass the key’s id, as shown by `keys`.')
      const ownerId = await selectKeyOwner(deps.sql, id)
      if (ownerId === null || !(await revoke(deps, ownerId, id))) throw new Refused(`Key ${id} not found.`)
      return { json: { id, revoked: true }, text: 'Revoked.' }
    },
  },
}

const dataCommands: Record<string, Command> = {
  export: {
    args: ['id|email', 'file'],
    options: {},
    usage: '',
    about: 'Export all data of an account to a new JSON file: calls with transcripts, contacts, ledger, settings.',
    async run({ deps, args }) {
      const account = await findAccount(deps, args[0]!, { deletedToo: true })
      const file = resolve(args[1]!)
      const bytes = await writeExport(deps, account.id, file)
      return { json: { file, bytes }, text: `Exported to ${file} (${bytes} bytes).` }
    },
  },
  delete: {
    args: ['id|email'],
    options: { yes: { type: 'boolean' } },
    usage: '--yes',
    about:
      'Permanently erase an account’s data: contacts, calls, recordings, settings, keys, e-mail and name.\n' +
      'The ledger is kept without personal data. This takes a little more than 5 seconds.',
    async run({ deps, args, options }) {
      const account = await findAccount(deps, args[0]!)
      if (!options['yes'])
        throw new UsageError('Nothing was deleted. Run `export` first if you need the data, then repeat with --yes.')
      await deps.boss.start()
      const { balance } = await eraseAccount(deps, account.id)
      const left = { id: account.id, deleted: true, balance: fromUnits(balance), currency: deps.config.currency }
      return { json: left, text: `Deleted. The remaining balance was ${left.balance} ${left.currency}.` }
    },
  },
}

/** Runs the command with an audit entry for the account that it changes. Erasing an account writes its own entry. */
export async function runAudited(name: string, command: Command, context: Context): Promise<Result> {
  if (!command.changes) return command.run(context)
  const { deps, args } = context
  const entry = byOperator(name.replaceAll('-', '_'))
  const ownerId = name === 'revoke-key' ? await ownerOfKey(deps, args[0]!) : args[0] && (await idOf(deps, args[0]))
  if (ownerId) return audited(deps, ownerId, entry, () => command.run(context))
  const result = await command.run(context)
  const { id } = result.json as { id?: string }
  if (name === 'create-account' && id) await noteDone(deps.sql, deps, id, entry)
  return result
}

/** Null when there is no such account; the command reports that itself, after its other checks. */
async function idOf(deps: AdminDeps, who: string): Promise<string | null> {
  try {
    return (await findAccount(deps, who)).id
  } catch (error) {
    if (error instanceof Refused) return null
    throw error
  }
}

const ownerOfKey = async (deps: AdminDeps, id: string) => (isUuid(id) ? selectKeyOwner(deps.sql, id) : null)

export const commands: Record<string, Command> = { ...accountCommands, ...keyCommands, ...dataCommands }

/** Never overwrites a file, and removes an incomplete one. */
async function writeExport(deps: AdminDeps, ownerId: string, file: string): Promise<number> {
  const handle = await open(file, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new Refused(error.code === 'EEXIST' ? `${file} already exists.` : `Couldn’t write ${file}.`)
  })
  let bytes = 0
  try {
    await exportAccount(deps, ownerId, async piece => {
      const { bytesWritten } = await handle.write(piece)
      bytes += bytesWritten
    })
    return bytes
  } catch (error) {
    await rm(file, { force: true })
    throw error
  } finally {
    await handle.close()
  }
}

/** A message that is safe to show, or null when the failure is a bug. */
export function inWords(error: unknown): string | null {
  if (error instanceof Refused) return error.message
  if (error instanceof Problem)
    return error.code === 'email_taken' ? 'An account with this e-mail already exists.' : error.message
  const code = (error as { code?: string }).code ?? ''
  if (/^(?:ECONN|CONNECT|ENOTFOUND|28)/.test(code))
    return 'Couldn’t connect to the database. Check DATABASE_URL and that Postgres is running.'
  if (/^(?:42P01|42703|3F000)$/.test(code))
    return 'The database is not set up for this version. Start Parley once to migrate it.'
  if (code === '40P01') return 'The account was changed at the same time. Try again.'
  return null
}
