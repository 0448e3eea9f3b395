import { z } from 'zod'

/** Caches valid names: this check takes longer than all others of a project, and every response repeats it. */
const timezones = new Set<string>()
const isTimezone = (name: string) => {
  if (timezones.has(name)) return true
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    if (timezones.size < 1000) timezones.add(name)
    return true
  } catch {
    return false
  }
}

export const Timezone = z
  .string()
  .max(64)
  .refine(isTimezone, { error: 'must be an IANA timezone' })
  .meta({ format: 'timezone', description: 'IANA name, such as Europe/Moscow' })
