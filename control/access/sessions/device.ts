/** Names the device of a session from its User-Agent, for people who compare it with the devices that they own. */

/** The first match decides: Edge and Opera name Chrome too, and Chrome names Safari. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\b(?:OPR|Opera)\//, 'Opera'],
  [/\bYaBrowser\//, 'Yandex Browser'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bVersion\/\S+.*\bSafari\//, 'Safari'],
]
/** Android names Linux too, and an iPhone names Mac OS X. */
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bMac OS X\b|\bMacintosh\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]
const MOST_CHARS = 60

/** Returns a text such as `Firefox, Windows`; for a program, its own name; null when the client gave no name. */
export function deviceOf(userAgent: string | null): string | null {
  const text = userAgent?.trim() ?? ''
  if (text === '') return null
  const named = [BROWSERS, SYSTEMS].map(list => list.find(([pattern]) => pattern.test(text))?.[1])
  const known = named.filter(name => name !== undefined).join(', ')
  return known || text.split(/[\s(;]/)[0]!.slice(0, MOST_CHARS)
}
