/** The SIP messages of the call: diagnosis, ladder diagram and text. */
import { Button, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useTranslation } from 'react-i18next'
import { DiagnosisAlert } from '../diagnosis/diagnosis.tsx'
import { CopyBlock } from '../ui/copy.tsx'
import { Answered } from '../ui/states.tsx'
import { Ladder } from './ladder.tsx'
import { type CallDetail, traceQuery, traceTextQuery } from './queries.ts'
import { Section } from './section.tsx'

export function Sip({ call }: { call: CallDetail }) {
  const { t } = useTranslation('calls')
  const [asText, setAsText] = useState(false)
  if (call.sip_trace_url === null) return <None web={call.direction === 'web'} />
  const toggle = (
    <Button variant="default" size="xs" aria-pressed={asText} onClick={() => setAsText(shown => !shown)}>
      {t('sip.asText')}
    </Button>
  )
  return (
    <Section title={t('sip.title')} aside={toggle}>
      {asText ? <AsText id={call.id} /> : <Drawn id={call.id} />}
    </Section>
  )
}

function None({ web }: { web: boolean }) {
  const { t } = useTranslation('calls')
  return (
    <Section title={t('sip.title')}>
      <Text size="sm" c="dimmed">
        {web ? t('sip.noneWeb') : `${t('sip.none')} ${t('sip.gone')}`}
      </Text>
    </Section>
  )
}

function Drawn({ id }: { id: string }) {
  const { t } = useTranslation('calls')
  const trace = useQuery(traceQuery(id))
  return (
    <Answered of={trace}>
      {data => (
        <>
          {data.diagnosis && <DiagnosisAlert diagnosis={data.diagnosis} />}
          {data.messages.length > 0 ? <Ladder trace={data} /> : <Text c="dimmed">{t('sip.empty')}</Text>}
          {data.omitted > 0 && (
            <Text size="sm" c="dimmed">
              {t('sip.omitted', { count: data.omitted })}
            </Text>
          )}
        </>
      )}
    </Answered>
  )
}

function AsText({ id }: { id: string }) {
  const { t } = useTranslation('calls')
  const text = useQuery(traceTextQuery(id))
  return <Answered of={text}>{ladder => <CopyBlock value={String(ladder)} label={t('sip.text')} />}</Answered>
}
