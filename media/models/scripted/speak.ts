/** Converts values and tool results to text for speech. Pure. */
import { inWords } from './slots.ts'

const MAX_FIELDS = 6
const MAX_ITEMS = 3
/** Fields that already contain a sentence are spoken unchanged. */
const SENTENCES = ['say', 'speech', 'message', 'answer', 'text', 'summary', 'detail']

/** Speaks a date as a day and a time by the clock; returns anything else unchanged. */
export function speakValue(value: string | number, language: string): string {
  const text = String(value)
  const dateTime = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}))?/.exec(text)
  if (dateTime && dateTime[0].length >= text.replace(/(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})?$/, '').length) {
    const day = new Date(`${dateTime[1]}T00:00:00Z`).toLocaleDateString(language, {
      weekday: 'long',
      day: 'numeric',
      month: 'long',
      timeZone: 'UTC',
    })
    return dateTime[2] ? `${day}, ${speakTime(dateTime[2], language)}` : day
  }
  return /^\d{2}:\d{2}$/.test(text) ? speakTime(text, language) : text
}

function speakTime(time: string, language: string): string {
  if (!language.toLowerCase().startsWith('en')) return time
  const [hour, minute] = time.split(':').map(Number) as [number, number]
  const half = hour < 12 ? 'a m' : 'p m'
  return `${hour % 12 || 12}${minute === 0 ? '' : ` ${minute < 10 ? `oh ${minute}` : minute}`} ${half}`
}

export function speakResult(result: string, done: string, language: string): string {
  let data: unknown
  try {
    data = JSON.parse(result)
  } catch {
    return sentence(result.slice(0, 400)) || done
  }
  return sentence(speakData(data, language)) || done
}

function speakData(data: unknown, language: string): string {
  if (typeof data === 'string') return speakValue(data, language)
  if (typeof data === 'number' || typeof data === 'boolean') return String(data)
  if (Array.isArray(data))
    return data
      .slice(0, MAX_ITEMS)
      .map(item => speakData(item, language))
      .filter(Boolean)
      .join('; ')
  if (typeof data !== 'object' || data === null) return ''
  const fields = data as Record<string, unknown>
  for (const key of SENTENCES) {
    const text = fields[key]
    if (typeof text === 'string' && text.trim() !== '') return text.trim()
  }
  return Object.entries(fields)
    .filter(([key, value]) => value !== null && value !== undefined && value !== '' && !/(?:^|_)id$/i.test(key))
    .slice(0, MAX_FIELDS)
    .map(([key, value]) => `${inWords(key)}: ${speakData(value, language)}`)
    .join(', ')
}

const sentence = (text: string) =>
  text.trim() === '' ? '' : /[.!?…]$/.test(text.trim()) ? text.trim() : `${text.trim()}.`
