/** Explains why a contact is not being called: all reasons, and the earliest next time. */
import { Button, Group, List, Modal, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useTranslation } from 'react-i18next'
import { number } from '../ui/format.ts'
import { Answered } from '../ui/states.tsx'
import { timeIn } from './hours.ts'
import { type Campaign, type CampaignContact, whyQuery } from './queries.ts'
import { reasonText } from './reasons.ts'

interface WhyProps {
  campaign: Campaign
  /** Null closes the dialog. */
  contact: CampaignContact | null
  onClose: () => void
}

export function Why({ campaign, contact, onClose }: WhyProps) {
  const { t } = useTranslation('campaigns')
  const { t: common } = useTranslation()
  return (
    <Modal
      opened={contact !== null}
      onClose={onClose}
      title={t('why.title', { phone: contact?.phone ?? '' })}
      centered
      closeButtonProps={{ 'aria-label': common('close') }}
    >
      {contact && <Reasons campaign={campaign} contact={contact} />}
    </Modal>
  )
}

function Reasons({ campaign, contact }: { campaign: Campaign; contact: CampaignContact }) {
  const { t } = useTranslation('campaigns')
  const why = useQuery(whyQuery(campaign.id, contact.id))
  const zone = campaign.params.timezone
  return (
    <Answered of={why}>
      {({ decision, reasons, until, attempts, attempts_left }) => (
        <Stack aria-live="polite">
          <Text fw={600}>{t(`why.decision.${decision}`)}</Text>
          {reasons.length > 0 && (
            <List aria-label={t('why.reasons')}>
              {reasons.map(({ code, message }) => (
                <List.Item key={code}>{reasonText(t, code, message)}</List.Item>
              ))}
            </List>
          )}
          {until !== null && <Text>{t('why.until', { at: timeIn(until, zone), zone })}</Text>}
          <Group justify="space-between">
            <Text size="sm" c="dimmed">
              {t('why.attempts', { made: number(attempts), left: number(attempts_left) })}
            </Text>
            <Button variant="default" size="xs" loading={why.isFetching} onClick={() => why.refetch()}>
              {t('why.again')}
            </Button>
          </Group>
        </Stack>
      )}
    </Answered>
  )
}
