/** Lists everything that prevents a campaign from running, each with a link to fix it. */
import { Anchor, Group, List, Text } from '@mantine/core'
import { useTranslation } from 'react-i18next'
import { Link } from 'react-router'
import { ParleyError } from '../api/queries.ts'
import { Notice } from '../ui/notice.tsx'
import { ProblemAlert } from '../ui/states.tsx'

export const blockerCodes = [
  'no_contacts',
  'subscription_inactive',
  'insufficient_balance',
  'daily_limit_reached',
  'calls_stopped',
  'no_outbound_line',
  'moderation_rejected',
  'not_found',
] as const
type Blocker = (typeof blockerCodes)[number]

const isBlocker = (code: string): code is Blocker => (blockerCodes as readonly string[]).includes(code)

const places: Record<Blocker, string> = {
  no_contacts: '#upload',
  subscription_inactive: '/balance',
  insufficient_balance: '/balance',
  daily_limit_reached: '/account',
  calls_stopped: '/account',
  no_outbound_line: '/trunks',
  moderation_rejected: '#settings',
  not_found: '#settings',
}

function blockersOf(error: unknown): Blocker[] {
  if (!(error instanceof ParleyError)) return []
  const codes = error.problem.errors?.map(({ code }) => code) ?? []
  return [...new Set(codes.length > 0 ? codes : [error.code as string])].filter(isBlocker)
}

/** `again` is true if the action was to retry contacts. */
export function Blockers({ error, again = false, onGo }: { error: unknown; again?: boolean; onGo?: () => void }) {
  const { t } = useTranslation('campaigns')
  const blockers = blockersOf(error)
  if (blockers.length === 0) return <ProblemAlert error={error} />
  return (
    <Notice color="red" role="alert" title={t('blockers.title')}>
      <List spacing="xs">
        {blockers.map(code => (
          <List.Item key={code}>
            <Group gap="xs">
              <Text size="sm">{t(again && code === 'no_contacts' ? 'blockers.nobody_again' : `blockers.${code}`)}</Text>
              {!(again && code === 'no_contacts') && (
                <Anchor component={Link} to={places[code]} size="sm" onClick={onGo}>
                  {t(`blockers.mend.${code}`)}
                </Anchor>
              )}
            </Group>
          </List.Item>
        ))}
      </List>
    </Notice>
  )
}
