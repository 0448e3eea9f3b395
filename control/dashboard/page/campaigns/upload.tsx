/** Uploads a contact list to a draft in steps: choose, map columns, preview, send. */
import { Stack } from '@mantine/core'
import { useState } from 'react'
import type { Campaign } from './queries.ts'
import { useSending } from './sending.ts'
import type { Source } from './source.ts'
import { Choose } from './upload-choose.tsx'
import { Result, Sending } from './upload-result.tsx'
import { Understood } from './upload-understood.tsx'

export default function Upload({ campaign }: { campaign: Campaign }) {
  const [source, setSource] = useState<Source | null>(null)
  const sending = useSending(campaign.id)
  const { state } = sending
  const other = () => {
    sending.reset()
    setSource(null)
  }
  if (state?.step === 'done') return <Result state={state} onOther={other} />
  if (state) return <Sending state={state} onStop={sending.stop} onGoOn={sending.goOn} onOther={other} />
  if (source === null) return <Choose onSource={setSource} />
  return (
    <Stack>
      <Understood campaign={campaign} source={source} onSend={sending.send} onOther={other} />
    </Stack>
  )
}
