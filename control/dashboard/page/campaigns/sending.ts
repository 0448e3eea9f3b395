/** Uploads a list in batches, one after another, and resumes after an interruption. */
import { useEffect, useRef, useState } from 'react'
import { api } from '../api/client.ts'
import { must, queryClient } from '../api/queries.ts'
import type { Schemas } from '../api/types.ts'
import type { Column } from './columns.ts'
import { type Portion, portionsOf } from './entries.ts'
import type { Delimiter, Row } from './read-table.ts'

export interface Job {
  rows: readonly Row[]
  columns: readonly Column[]
  mode: 'append' | 'replace'
  /** Delimiter of the source, reused for the CSV of rejected rows. */
  delimiter: Delimiter
}

export type InvalidCode = Schemas['CampaignUpload']['invalid'][number]['code']

export interface Refused {
  row: Row
  code: InvalidCode
}

export interface SendingState {
  step: 'sending' | 'broke' | 'stopped' | 'done'
  job: Job
  /** Rows acknowledged by the server. */
  done: number
  accepted: number
  duplicates: number
  refused: Refused[]
  /** Total number of contacts in the campaign. */
  total: number
  error: unknown
}

/** Names the upload, so that a batch that is sent again after a lost connection counts once. */
const newKey = () =>
  [...crypto.getRandomValues(new Uint8Array(16))].map(byte => byte.toString(16).padStart(2, '0')).join('')

const send = (campaign_id: string, key: string, { mode }: Job, { from, entries }: Portion) =>
  must(
    api.POST('/v1/public/campaigns/{campaign_id}/contacts', {
      params: {
        path: { campaign_id },
        query: { mode: from === 0 ? mode : 'append' },
        header: { 'idempotency-key': `${key}-${from}` },
      },
      body: entries,
    }),
  )

function answered(before: SendingState, { from, entries }: Portion, answer: Schemas['CampaignUpload']): SendingState {
  const refused = answer.invalid.map(({ index, code }) => ({ row: before.job.rows[from + index]!, code }))
  return {
    ...before,
    done: from + entries.length,
    accepted: before.accepted + answer.accepted,
    duplicates: before.duplicates + answer.duplicates,
    refused: [...before.refused, ...refused],
    total: answer.total,
  }
}

export function useSending(campaignId: string) {
  const [state, setState] = useState<SendingState | null>(null)
  const stopped = useRef(false)
  const key = useRef('')
  useEffect(
    () => () => {
      stopped.current = true
    },
    [],
  )

  const run = async (from: SendingState) => {
    let now: SendingState = { ...from, step: 'sending', error: null }
    stopped.current = false
    setState(now)
    try {
      for (const portion of portionsOf(now.job.rows, now.job.columns)) {
        if (portion.from < now.done) continue
        if (stopped.current) break
        now = answered(now, portion, await send(campaignId, key.current, now.job, portion))
        setState(now)
      }
      setState({ ...now, step: now.done < now.job.rows.length ? 'stopped' : 'done' })
    } catch (error) {
      setState({ ...now, step: 'broke', error })
    }
    void queryClient.invalidateQueries({ queryKey: ['campaign', campaignId] })
    void queryClient.invalidateQueries({ queryKey: ['campaigns'] })
  }

  return {
    state,
    send(job: Job) {
      key.current = newKey()
      void run({ step: 'sending', job, done: 0, accepted: 0, duplicates: 0, refused: [], total: 0, error: null })
    },
    goOn: () => state && void run(state),
    stop() {
      stopped.current = true
    },
    reset: () => setState(null),
  }
}
