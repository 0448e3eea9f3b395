/** Builds messages byte by byte: every line ends with CRLF, and nothing is added implicitly. */
export function lines(...text: string[]): Buffer {
  return Buffer.from(`${text.join('\r\n')}\r\n`, 'latin1')
}

export function message(head: string[], body: Buffer | string = ''): Buffer {
  return Buffer.concat([lines(...head, ''), typeof body === 'string' ? Buffer.from(body, 'latin1') : body])
}

export const OPTIONS = [
  'OPTIONS sip:user@example.com SIP/2.0',
  'Via: SIP/2.0/UDP host1.example.com:5060;branch=z9hG4bKkdjuw',
  'Max-Forwards: 70',
  'From: <sip:caller@example.net>;tag=323',
  'To: sip:user@example.com',
  'Call-ID: 1234@example.net',
  'CSeq: 60 OPTIONS',
]

/** Returns OPTIONS with one line replaced or, when `line` is null, omitted. */
export function changed(name: string, line: string | null): string[] {
  return OPTIONS.flatMap(known => (known.startsWith(`${name}:`) ? (line === null ? [] : [line]) : [known]))
}
