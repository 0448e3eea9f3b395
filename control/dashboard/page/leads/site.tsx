import { Anchor } from '@mantine/core'

const isWeb = (address: string) => URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)

/** A URL from an untrusted source: linked only if it is http or https, otherwise shown as text. */
export function Site({ address }: { address: string | null }) {
  if (address === null) return '—'
  if (!isWeb(address)) return address
  return (
    <Anchor href={address} target="_blank" rel="noopener noreferrer" size="sm">
      {new URL(address).host.replace(/^www\./, '')}
    </Anchor>
  )
}
