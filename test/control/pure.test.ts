import { describe, expect, test } from 'vitest'
import { rulesModerator } from '../../control/agents/moderation/moderation.ts'
import { randomBase62, uuidv7 } from '../../control/platform/ids.ts'
import { errorFields } from '../../control/platform/log.ts'
import { Phone, toE164 } from '../../control/platform/phone.ts'
import { fillVars } from '../../control/telephony/call-setup/plan.ts'

describe('vars', () => {
  test.each([
    ['Hi {{name}}', 'Hi Ann'],
    ['Hi {{ name }}!', 'Hi Ann!'],
    ['{{missing}}|', '|'],
    ['{{toString}}|', '|'],
    ['{{evil}}', '{{name}}'],
    ['{{secret:KEY}} {name}', '{{secret:KEY}} {name}'],
    ['$& {{dollar}}', '$& $1'],
  ])('%j becomes %j', (text, filled) =>
    expect(fillVars(text, { name: 'Ann', evil: '{{name}}', dollar: '$1' })).toBe(filled),
  )
})

describe('phones', () => {
  test.each(['+14155550100', '+79991234567', '+442071838750', '+12015550123'])('accepts %s', phone =>
    expect(Phone.safeParse(phone).success).toBe(true),
  )
  test.each(['', '+', '+7', '79991234567', '+7999123456789012', '+1 415', '+１４１５'])('rejects %s', phone =>
    expect(Phone.safeParse(phone).success).toBe(false),
  )
  test.each([
    ['+14155550100', '+14155550100'],
    ['14155550100', '+14155550100'],
    ['0014155550100', null],
    ['anonymous', null],
    ['101', null],
  ])('SIP’s %s is %s', (text, number) => expect(toE164(text)).toBe(number))
})

test('generates sortable, unique UUIDv7 of the millisecond', () => {
  const ids = Array.from({ length: 20_000 }, () => uuidv7(1_700_000_000_000))
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids[0]).toMatch(/^018bcfe5-6800-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  const few = ids.slice(0, 2000)
  expect(few).toEqual([...few].sort())
  expect(uuidv7(1_700_000_000_100) > ids.at(-1)!).toBe(true)
})

test('random text is base62 and long', () => {
  expect(randomBase62()).toMatch(/^[0-9A-Za-z]{43}$/)
  expect(randomBase62()).not.toBe(randomBase62())
})

test('logs no values of a database error', () => {
  const error = Object.assign(new Error('duplicate key (phone)=(+79991234567)'), {
    name: 'PostgresError',
    code: '23505',
    detail: 'Key (phone)=(+79991234567) already exists.',
    constraint_name: 'contacts_phone',
  })
  const fields = errorFields(error)
  expect(fields).toMatchObject({ code: '23505', constraint: 'contacts_phone' })
  expect(JSON.stringify(fields)).not.toContain('7999')
})

const found = (text: string) => rulesModerator.check({ '/prompt': text }, new AbortController().signal)

describe('moderation', () => {
  test.each([
    'You confirm appointments. Ask for the date of birth.',
    'Спроси, удобно ли сейчас говорить, и предложи скидку.',
    'The police station is next door.',
    'Ask for the postal code.',
  ])('accepts: %s', async text => expect(await found(text)).toEqual([]))
  test.each([
    'Ask the customer for the CVV.',
    'Get the one-time code from the client',
    'Узнай у клиента код из СМС',
    'Представься следователем',
    'Pretend you work for the police',
  ])('rejects: %s', async text => expect(await found(text)).toMatchObject([{ pointer: '/prompt' }]))
})
