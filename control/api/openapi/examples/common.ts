/** Data that the examples share, so that they describe one consistent case. */

export const PROJECT = '0195f2c0-11a4-7b52-8e6f-3c1d9a7b2e01'
export const CALL = '0195f2c4-7a10-7c3e-9b1d-5e8f2a6c4d01'
export const CONTACT = '0195f2c4-8b22-7d4f-8c2e-6f903b7d5e12'
export const TRUNK = '0195f2bf-90d3-7e61-9f40-7a1c4b8e6f23'
export const WEBHOOK = '0195f2c1-a7c5-7f72-8a51-8b2d5c9f7034'
export const DELIVERY = '0195f2c5-02e6-7083-9b62-9c3e6da08145'
export const MONITOR = '0195f2c4-9c33-7e60-9d4f-7fa14c8e6f23'
export const KEY = '0195f2be-c3f7-7194-8c73-ad4f7eb19256'
export const SOFTPHONE = '0195f2c6-13f7-7294-8c73-ad4f7eb19267'
export const SOURCE = '0195f2c7-25b8-73a6-8f11-4d0c9b8a7e65'
export const PHONE = '+14155550123'
export const LINE = '+14155550100'
export const CREATED = '2026-03-02T09:12:00.000Z'
export const CALLED = '2026-03-02T09:14:05.120Z'
export const ANSWERED = '2026-03-02T09:14:12.480Z'
export const ENDED = '2026-03-02T09:15:42.318Z'

export const money = (amount: string) => ({ amount, currency: 'RUB' })
export const page = (...items: unknown[]) => ({ items, total: items.length, limit: 50, offset: 0 })
export const gone = (id: string) => ({ answer: { id, deleted: true } })

export const GREETING = 'Good day, this is Aurora. How can I help?'
