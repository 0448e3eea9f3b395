/** Converts between instants and local time in a time zone, as `YYYY-MM-DDTHH:MM` of browser inputs. Pure. */

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone)
  if (!format) {
    const two = '2-digit' as const
    const parts = { year: 'numeric', month: two, day: two, hour: two, minute: two, second: two } as const
    format = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', ...parts })
    formats.set(zone, format)
  }
  return format
}

/** Parses a local time as if it were UTC. */
function shownMs(ms: number, zone: string): number {
  const parts = Object.fromEntries(
    formatOf(zone)
      .formatToParts(ms)
      .map(({ type, value }) => [type, Number(value)]),
  )
  const { year, month, day, hour, minute, second } = parts as Record<string, number>
  return Date.UTC(year!, month! - 1, day!, hour!, minute!, second!)
}

/** A local time that a DST change skips maps to one hour later; of a repeated one, the first is used. */
export function instantOf(wall: string, zone: string): string {
  const wanted = Date.parse(`${wall}:00Z`)
  const day = 24 * 3600 * 1000
  const offsets = [wanted - day, wanted + day].map(ms => shownMs(ms, zone) - ms)
  const found = offsets.map(offset => wanted - offset).filter(ms => shownMs(ms, zone) === wanted)
  const ms = found.length > 0 ? Math.min(...found) : wanted - offsets[0]!
  return new Date(ms).toISOString()
}

export const wallOf = (iso: string, zone: string): string =>
  new Date(shownMs(Date.parse(iso), zone)).toISOString().slice(0, 16)

export function isZone(zone: string): boolean {
  try {
    formatOf(zone)
    return true
  } catch {
    return false
  }
}
