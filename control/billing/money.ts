/**
 * Money: whole 1/10000 of the currency unit as bigint, and a double-entry ledger. Every movement is written as entries
 * that sum to zero (the database rejects others). `balances` is their running total per owner. Conditional updates keep
 * it from going below zero. Row locks are always taken in the order hold, balance.
 */
import type { Db, Tx } from '../platform/db/connect.ts'
import { uuidv7 } from '../platform/ids.ts'

const SCALE = 4
const PERCENT_MINUTE = 60n * 100n

export function toUnits(decimal: string): bigint {
  const match = /^(\d+)(?:\.(\d{1,4}))?$/.exec(decimal)
  if (!match) throw new Error('invalid amount of money')
  return BigInt(match[1]! + (match[2] ?? '').padEnd(SCALE, '0'))
}

export function fromUnits(units: bigint): string {
  const sign = units < 0n ? '-' : ''
  const digits = (units < 0n ? -units : units).toString().padStart(SCALE + 1, '0')
  return `${sign}${digits.slice(0, -SCALE)}.${digits.slice(-SCALE)}`
}

export interface Tariff {
  /** Units per minute. */
  price: bigint
  /** Percentage of the price that this kind of call costs. */
  factorPercent: number
}

/** price × factor × seconds / 60, rounded half up. */
export function costOf(tariff: Tariff, seconds: number): bigint {
  const exact = tariff.price * BigInt(tariff.factorPercent) * BigInt(seconds)
  return (2n * exact + PERCENT_MINUTE) / (2n * PERCENT_MINUTE)
}

/** Whole seconds, up to `most`, that this money pays for. */
export function secondsFor(tariff: Tariff, money: bigint, most: number): number {
  const perMinute = tariff.price * BigInt(tariff.factorPercent)
  if (perMinute === 0n) return most
  // Solves costOf(seconds) ≤ money for seconds, rounding included.
  const seconds = (PERCENT_MINUTE * (2n * money + 1n) - 1n) / (2n * perMinute)
  return seconds < BigInt(most) ? Number(seconds) : most
}

export interface Balance {
  available: bigint
  held: bigint
  open_holds: number
}

type Account = 'balance' | 'held' | 'revenue' | 'funding'
export const entryKinds = ['fund', 'hold', 'extend', 'settle'] as const
export type EntryKind = (typeof entryKinds)[number]

/** The row of a balance after a change, while it is still locked. */
interface Moved {
  available: bigint
  entries: number
  open_holds: number
}

/** The call or lead search that money is held for. Each has one hold. */
export interface Purpose {
  call_id: string | null
  job_id: string | null
}
const forCall = (id: string): Purpose => ({ call_id: id, job_id: null })
const forJob = (id: string): Purpose => ({ call_id: null, job_id: id })
const forNothing: Purpose = { call_id: null, job_id: null }

interface Movement {
  kind: EntryKind
  purpose: Purpose
  at: Date
  moved: Moved
  amounts: Partial<Record<Account, bigint>>
  reference?: string | null
}

async function write(db: Db, ownerId: string, { kind, purpose, at, moved, amounts, reference }: Movement) {
  const transactionId = uuidv7(at.getTime())
  const entries = Object.entries(amounts)
    .filter(([, amount]) => amount !== 0n)
    .map(([account, amount]) => ({
      id: uuidv7(at.getTime()),
      transaction_id: transactionId,
      owner_id: ownerId,
      account,
      kind,
      amount,
      ...purpose,
      created_at: at,
      seq: account === 'balance' ? moved.entries : null,
      balance_after: account === 'balance' ? moved.available : null,
      reference: reference ?? null,
    }))
  if (entries.length > 0) await db`insert into ledger_entries ${db(entries)}`
}

/** Number of balance entries that an amount causes; a change of zero writes none. */
const entriesOf = (amount: bigint) => (amount === 0n ? 0 : 1)

export async function openAccount(tx: Tx, ownerId: string): Promise<void> {
  await tx`insert into balances (owner_id, available, held) values (${ownerId}, 0, 0)`
}

export async function balanceOf(db: Db, ownerId: string): Promise<Balance> {
  const [row] = await db<Balance[]>`select available, held, open_holds from balances where owner_id = ${ownerId}`
  return row ?? { available: 0n, held: 0n, open_holds: 0 }
}

/** Credits trial money or a payment. The owner sees the reference. */
export async function fund(
  tx: Tx,
  ownerId: string,
  amount: bigint,
  at: Date,
  reference: string | null = null,
): Promise<void> {
  if (amount < 0n) throw new Error('funding must not be negative')
  const [moved] = await tx<Moved[]>`
    update balances set available = available + ${amount}, entries = entries + ${entriesOf(amount)}
    where owner_id = ${ownerId} returning available, entries, open_holds`
  if (!moved) throw new Error('balance not found')
  const amounts = { funding: -amount, balance: amount }
  await write(tx, ownerId, { kind: 'fund', purpose: forNothing, at, moved, amounts, reference })
}

/** Serialises the start of an owner's calls: each is counted under this lock. */
export async function lockBalance(tx: Tx, ownerId: string): Promise<void> {
  await tx`select 1 from balances where owner_id = ${ownerId} for update`
}

export interface Hold {
  amount: bigint
  paid_seconds: number
}

/** Undefined when the balance or the daily cap does not cover the amount; then nothing has changed. */
async function reserve(tx: Tx, ownerId: string, amount: bigint, at: Date): Promise<Moved | undefined> {
  const [moved] = await tx<Moved[]>`
    update balances
    set available = available - ${amount}, held = held + ${amount}, entries = entries + ${entriesOf(amount)}
    where owner_id = ${ownerId} and spendable(balances, ${at}) >= ${amount} returning available, entries, open_holds`
  return moved
}

/**
 * Holds money for the first seconds of a call. Returns how many holds of the owner's calls are open, including this
 * one; null when there is not enough money.
 */
export async function openHold(
  tx: Tx,
  ownerId: string,
  call: { id: string; tariff: Tariff; seconds: number },
  at: Date,
): Promise<number | null> {
  const amount = costOf(call.tariff, call.seconds)
  return placeHold(tx, ownerId, { purpose: forCall(call.id), amount, seconds: call.seconds }, at)
}

/** Holds money for a lead search. Returns false when there is not enough; then nothing has changed. */
export async function openJobHold(
  tx: Tx,
  ownerId: string,
  job: { id: string; amount: bigint },
  at: Date,
): Promise<boolean> {
  const hold = { purpose: forJob(job.id), amount: job.amount, seconds: 0 }
  return (await placeHold(tx, ownerId, hold, at)) !== null
}

async function placeHold(
  tx: Tx,
  ownerId: string,
  hold: { purpose: Purpose; amount: bigint; seconds: number },
  at: Date,
): Promise<number | null> {
  const { purpose, amount, seconds } = hold
  const { call_id, job_id } = purpose
  const [first, second, transaction] = [uuidv7(at.getTime()), uuidv7(at.getTime()), uuidv7(at.getTime())]
  // One statement, because every call runs it. `write` documents the entries.
  const [moved] = await tx<Pick<Moved, 'open_holds'>[]>`
    with moved as (
      update balances
      set available = available - ${amount}, held = held + ${amount}, entries = entries + ${entriesOf(amount)},
        open_holds = open_holds + ${countOf(purpose)}
      where owner_id = ${ownerId} and spendable(balances, ${at}) >= ${amount} returning available, entries, open_holds
    ), hold as (
      insert into holds (call_id, job_id, owner_id, amount, paid_seconds)
      select ${call_id}::uuid, ${job_id}::uuid, ${ownerId}, ${amount}, ${seconds} from moved
    ), entered as (
      insert into ledger_entries
        (id, transaction_id, owner_id, account, kind, amount, call_id, job_id, created_at, seq, balance_after)
      select ${first}::uuid, ${transaction}::uuid, ${ownerId}::uuid, 'balance', 'hold', ${-amount}::bigint,
        ${call_id}::uuid, ${job_id}::uuid, ${at}::timestamptz, entries, available from moved where ${amount}::bigint <> 0
      union all
      select ${second}::uuid, ${transaction}::uuid, ${ownerId}::uuid, 'held', 'hold', ${amount}::bigint,
        ${call_id}::uuid, ${job_id}::uuid, ${at}::timestamptz, null, null from moved where ${amount}::bigint <> 0
    )
    select open_holds from moved`
  return moved?.open_holds ?? null
}

/** `open_holds` counts calls in progress only. */
const countOf = ({ call_id }: Purpose) => (call_id === null ? 0 : 1)

/**
 * Holds money for several calls of one owner: for all of them or, when there is not enough money, for none; then it
 * returns false.
 */
export async function openHolds(
  tx: Tx,
  ownerId: string,
  calls: { ids: readonly string[]; tariff: Tariff; seconds: number },
  at: Date,
): Promise<boolean> {
  const amount = costOf(calls.tariff, calls.seconds)
  const count = calls.ids.length
  const total = amount * BigInt(count)
  const id = () => uuidv7(at.getTime())
  const rows = calls.ids.map((call_id, index) => ({ call_id, index, first: id(), second: id(), transaction_id: id() }))
  const [moved] = await tx`
    with moved as (
      update balances
      set available = available - ${total}, held = held + ${total}, entries = entries + ${count * entriesOf(amount)},
        open_holds = open_holds + ${count}
      where owner_id = ${ownerId} and spendable(balances, ${at}) >= ${total} returning available, entries
    ), given as (
      select given.*, moved.* from moved, jsonb_to_recordset(${tx.json(rows)})
        as given (call_id uuid, index int, first uuid, second uuid, transaction_id uuid)
    ), hold as (
      insert into holds (call_id, owner_id, amount, paid_seconds)
      select call_id, ${ownerId}, ${amount}, ${calls.seconds} from given
    ), entered as (
      insert into ledger_entries
        (id, transaction_id, owner_id, account, kind, amount, call_id, created_at, seq, balance_after)
      select first, transaction_id, ${ownerId}::uuid, 'balance', 'hold', ${-amount}::bigint, call_id, ${at}::timestamptz,
        entries - ${count} + index + 1, available + ${amount}::bigint * (${count}::int - index - 1)
      from given where ${amount}::bigint <> 0
      union all
      select second, transaction_id, ${ownerId}::uuid, 'held', 'hold', ${amount}::bigint, call_id, ${at}::timestamptz,
        null, null
      from given where ${amount}::bigint <> 0
    )
    select 1 from moved`
  return moved !== undefined
}

/**
 * Adds up to `seconds`, limited by the balance and by `most` for the whole hold (null: no limit). Returns all seconds
 * that are paid for.
 */
export async function extendHold(
  tx: Tx,
  ownerId: string,
  call: { id: string; tariff: Tariff; seconds: number; most: bigint | null },
  at: Date,
): Promise<number> {
  const [hold] = await tx<Hold[]>`
    select amount, paid_seconds from holds
    where owner_id = ${ownerId} and call_id = ${call.id} and captured is null for update`
  if (!hold) return 0
  const [balance] = await tx<{ spendable: bigint }[]>`
    select spendable(balances, ${at}) as spendable from balances where owner_id = ${ownerId} for update`
  const wanted = hold.paid_seconds + call.seconds
  const money = hold.amount + (balance?.spendable ?? 0n)
  const paid = secondsFor(call.tariff, call.most !== null && call.most < money ? call.most : money, wanted)
  if (paid <= hold.paid_seconds) return hold.paid_seconds
  const more = costOf(call.tariff, paid) - hold.amount
  const moved = await reserve(tx, ownerId, more, at)
  if (!moved) return hold.paid_seconds
  await tx`
    update holds set amount = amount + ${more}, paid_seconds = ${paid}
    where owner_id = ${ownerId} and call_id = ${call.id}`
  await write(tx, ownerId, {
    kind: 'extend',
    purpose: forCall(call.id),
    at,
    moved,
    amounts: { balance: -more, held: more },
  })
  return paid
}

export interface Settlement {
  seconds: number
  captured: bigint
}

/** Ends a hold: captures the seconds talked, never more than were held, and releases the rest. Runs once. */
export async function settleHold(
  tx: Tx,
  ownerId: string,
  call: { id: string; tariff: Tariff; seconds: number },
  at: Date,
): Promise<Settlement> {
  const paidFor = ({ paid_seconds }: Hold) => Math.min(call.seconds, paid_seconds)
  const settled = await settle(tx, ownerId, forCall(call.id), hold => costOf(call.tariff, paidFor(hold)), at)
  return settled ? { seconds: paidFor(settled), captured: settled.captured } : { seconds: 0, captured: 0n }
}

/** Ends the hold of a lead search: captures its cost, never more than was held. */
export async function settleJobHold(
  tx: Tx,
  ownerId: string,
  job: { id: string; cost: bigint },
  at: Date,
): Promise<bigint> {
  const within = ({ amount }: Hold) => (job.cost < amount ? job.cost : amount)
  return (await settle(tx, ownerId, forJob(job.id), within, at))?.captured ?? 0n
}

/** The cap applies to the UTC day, because an account has no time zone of its own. */
const utcDay = (at: Date) => at.toISOString().slice(0, 10)

/** Returns null when there is no open hold. */
async function settle(
  tx: Tx,
  ownerId: string,
  purpose: Purpose,
  cost: (hold: Hold) => bigint,
  at: Date,
): Promise<(Hold & { captured: bigint }) | null> {
  const { call_id, job_id } = purpose
  const which = tx`owner_id = ${ownerId} and ${call_id === null ? tx`job_id = ${job_id}` : tx`call_id = ${call_id}`}`
  const [hold] = await tx<Hold[]>`
    select amount, paid_seconds from holds where ${which} and captured is null for update`
  if (!hold) return null
  const captured = cost(hold)
  const rest = hold.amount - captured
  const [moved] = await tx<Moved[]>`
    update balances
    set held = held - ${hold.amount}, available = available + ${rest}, entries = entries + ${entriesOf(rest)},
      open_holds = open_holds - ${countOf(purpose)},
      spent = case when spent_on = ${utcDay(at)} then spent else 0 end + ${captured}, spent_on = ${utcDay(at)}
    where owner_id = ${ownerId} returning available, entries, open_holds`
  await tx`update holds set captured = ${captured} where ${which}`
  const amounts = { held: -hold.amount, revenue: captured, balance: rest }
  await write(tx, ownerId, { kind: 'settle', purpose, at, moved: moved!, amounts })
  return { ...hold, captured }
}
