/** Exact arithmetic on amounts, which are decimals with four places. */
import type { Schemas } from '../api/types.ts'

type Money = Schemas['Money']

const unitsOf = ({ amount }: Money): bigint => BigInt(amount.replace('.', ''))

export function times({ amount, currency }: Money, count: number): Money {
  const units = unitsOf({ amount, currency }) * BigInt(count)
  const digits = units.toString().padStart(5, '0')
  return { amount: `${digits.slice(0, -4)}.${digits.slice(-4)}`, currency }
}

export const covers = (balance: Money, price: Money): boolean => unitsOf(balance) >= unitsOf(price)
