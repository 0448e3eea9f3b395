import { Anchor } from '@mantine/core'

const isWeb = (address: string) => URL.canParse(address) && /^https?:$/.test(new URL(address).protocol)

/** An address that strangers wrote: followed only where it leads into the web, else a text like others. */
export function Site({ address }: { address: string | null }) {
  if (address === null) return '—'
  if (!isWeb(address)) return address
  return (
    <Anchor href={address} target="_blank" rel="noopener noreferrer" size="sm">
      {new URL(address).host.replace(/^www\./, '')}
    </Anchor>
  )
}
