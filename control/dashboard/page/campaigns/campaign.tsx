/** The page of one campaign: live progress, contacts with explanations, settings. */
import { Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense } from 'react'
import { useTranslation } from 'react-i18next'
import { useParams } from 'react-router'
import { useEvents } from '../api/events.ts'
import { queryClient } from '../api/queries.ts'
import { Page } from '../ui/page.tsx'
import { Section } from '../ui/section.tsx'
import { Answered, Waiting } from '../ui/states.tsx'
import { Contacts } from './contacts.tsx'
import { CampaignProgress } from './progress.tsx'
import { type Campaign, campaignQuery } from './queries.ts'
import { Settings } from './settings.tsx'
import { PauseReason } from './status.tsx'
import { Steps } from './steps.tsx'

/** Loaded lazily: only drafts need the CSV and phone number parsers. */
const Upload = lazy(() => import('./upload.tsx'))

export default function CampaignPage() {
  const { t } = useTranslation('campaigns')
  const { campaign_id: id = '' } = useParams()
  const campaign = useQuery(campaignQuery(id))
  return (
    <Answered of={campaign}>
      {data => (
        <Page title={data.name} actions={<Steps campaign={data} />}>
          <Live campaign={data} />
          <PauseReason campaign={data} />
          <CampaignProgress campaign={data} />
          {data.status === 'draft' && (
            <Section title={t('upload.title')} id="upload">
              <Suspense fallback={<Waiting />}>
                <Upload campaign={data} />
              </Suspense>
            </Section>
          )}
          <Section title={t('contacts.title')}>
            <Contacts campaign={data} />
          </Section>
          <Section title={t('settings.title')} id="settings">
            <Settings campaign={data} />
          </Section>
        </Page>
      )}
    </Answered>
  )
}

type Progress = Pick<Campaign, 'status' | 'pause_reason' | 'counters' | 'spend'>
type ProgressEvent = Progress & { type: 'campaign.progress' | 'campaign.ended' }

const types = ['campaign.progress', 'campaign.ended'] as const

/** Whether the campaign can still change by itself. */
const isLive = ({ status, counters }: Campaign) =>
  status === 'scheduled' ||
  status === 'running' ||
  status === 'paused' ||
  (status !== 'draft' && counters.dialing + counters.in_progress > 0)

function Live({ campaign }: { campaign: Campaign }) {
  const { t } = useTranslation('campaigns')
  const { id } = campaign
  useEvents<ProgressEvent>(isLive(campaign) ? `/v1/public/campaigns/${id}/events` : null, types, event => {
    const { type, ...progress } = event
    const before = queryClient.getQueryData(campaignQuery(id).queryKey)
    queryClient.setQueryData(campaignQuery(id).queryKey, before && { ...before, ...progress })
    void queryClient.invalidateQueries({ queryKey: ['campaign', id, 'contacts'] })
    // The event stream does not carry the campaign's timestamps.
    if (before?.status !== progress.status) void queryClient.invalidateQueries({ queryKey: ['campaign', id] })
    return type === 'campaign.ended' ? 'end' : undefined
  })
  return (
    <Text className="visually-hidden" aria-live="polite">
      {t(`status.${campaign.status}`)}
    </Text>
  )
}
